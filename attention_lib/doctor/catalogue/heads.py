"""Mistakes with splitting, merging and projecting heads."""

TEXT = """
split-without-transpose | 08_multi_head | mistake
The heads are split without a transpose: tokens get mixed
    Give each token's features to the heads, then swap the axes: `x.view(B, L, H, d_head).transpose(1, 2)`.

merge-without-transpose | 08_multi_head | mistake
The heads are merged without transposing back
    Swap length and heads first: `heads.transpose(1, 2).reshape(B, L, H * d_head)`.

heads-interleaved | 08_multi_head | mistake
Each head takes every H-th feature instead of a block of neighbours
    View as (H, d_head), in this order: `x.view(B, L, H, d_head).transpose(1, 2)`.

heads-averaged | 08_multi_head | mistake
The heads are averaged or summed instead of concatenated
    Put them side by side: `heads.transpose(1, 2).reshape(B, L, H * d_head)`.

missing-output-projection | 08_multi_head | mistake
The output projection W_O is missing
    `output = w_o(merged)` mixes the heads. If a later layer does it, declare it: `projections={'output': None}`.

input-split | 08_multi_head | mistake
The input is split between the heads, and one small matrix is shared by all
    Project first, d_model x d_model, and split the result: every head reads all features.

grouped-heads-tiled | 08_multi_head | remark
Query heads read the wrong key and value group
    Head h reads group h // (H / H_kv): `repeat_interleave(H // H_kv, dim=1)`, not `repeat`. Trained from scratch
    either order works; with weights from elsewhere only this one does.

batch-first-swapped | 08_multi_head | mistake
Batch and length have changed places: tokens attend across the batch
    Give `nn.MultiheadAttention` `batch_first=True`, or transpose (B, L, d) to (L, B, d) and back.

wrong-heads | 08_multi_head | mistake
The shape of the split heads is not (B, H, L, d_head)
    Use `x.view(B, L, H, d_head).transpose(1, 2)`.
"""
