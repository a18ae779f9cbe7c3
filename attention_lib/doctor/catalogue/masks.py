"""Mistakes with masks, causal ones and windows included."""

TEXT = """
mask-inverted | 07_masks | mistake
The mask is read the wrong way round: what it allows is blocked
    True = may attend: `scores = scores.masked_fill(~mask, float('-inf'))` before the softmax. If your convention is
    True = blocked, declare it: `mask='blocked'`.

padding-ignored | 07_masks | mistake
The mask is ignored: padding takes part
    Use the mask: `scores = scores.masked_fill(~mask, float('-inf'))` before the softmax.

future-leak | 07_masks | mistake
The future is visible
    `scores.masked_fill(~torch.ones(L, L, dtype=torch.bool).tril(), float('-inf'))` before the softmax.

mask-transposed | 07_masks | mistake
The mask is transposed: rows are masked where columns should be
    Rows are queries, columns are keys: padding masks have shape (B, 1, 1, S), a causal mask is lower triangular.

mask-after-softmax | 07_masks | mistake
The mask is applied after the softmax
    Rows lose the weight that blocked keys took. Use `scores = scores.masked_fill(~mask, float('-inf'))` before the
    softmax.

mask-fill-zero | 07_masks | mistake
Blocked scores are set to 0 instead of -inf
    exp(0) is 1, not 0. Use `scores = scores.masked_fill(~mask, float('-inf'))` before the softmax.

mask-fill-weak | 07_masks | mistake
Blocked scores are filled with a number that is not low enough
    Use `scores = scores.masked_fill(~mask, float('-inf'))` before the softmax.

mask-fill-positive | 07_masks | mistake
Blocked scores are filled with a large positive number
    The sign is wrong. Use `scores = scores.masked_fill(~mask, float('-inf'))` before the softmax.

float-mask-added | 07_masks | mistake
The mask is added to the scores as 0 and 1
    Adding 1 only makes a key e times as likely. Use `scores = scores.masked_fill(~mask, float('-inf'))` before the
    softmax, or convert: `masks.to_additive(mask)`. If the candidate takes additive masks, declare it:
    `mask='additive'`.

mask-raises | 07_masks | mistake
The candidate cannot be called with a mask
    A boolean mask that broadcasts to (B, H, L, S) should work: True = may attend.

length-off-by-one | 07_masks | mistake
One key too many, or one too few, of a padded sequence takes part
    A length of 3 allows keys 0, 1 and 2: `torch.arange(S) < lengths[:, None]`.

mask-wrong-sample | 07_masks | mistake
A sequence or a query gets the mask of another one
    Keep the mask's axes: (B, 1, 1, S) for padding, (B, 1, L, S) where queries have masks of their own.
    With heads folded into the batch as (B * H, L, S) repeat each mask H times in a row: `mask.repeat_interleave(H,
    dim=0)`, not `repeat`.

causal-misaligned | 12_long_sequences | mistake
With fewer queries than keys the causal mask is aligned to the wrong corner
    The L queries are the last L of the S positions: `torch.ones(L, S, dtype=torch.bool).tril(S - L)`.

cache-differs | 12_long_sequences | mistake
With a cache the last token gets another result than in the whole sequence
    New tokens come after the cached ones: append keys and values at the end, in that order; the mask's rows and the
    positions start at the number of cached tokens: `mask[S - L : S, :S]`.

causal-excludes-itself | 07_masks | mistake
The causal mask also hides a token from itself
    Keep the diagonal: `tril(0)` of what is allowed, or `triu(1)` of what is blocked.

causal-sees-next | 07_masks | mistake
The causal mask is off by one: each token sees the next one
    `tril(0)` of what is allowed, or `triu(1)` of what is blocked.

window-off-by-one | 12_long_sequences | mistake
The window has the wrong number of keys
    `window=w` lets a query see exactly w keys, itself included: `position - key < w`.

window-ignored | 12_long_sequences | mistake
The window is ignored
    Hide keys that are w or more positions behind: `position - key < w`.

uniform-on-empty-row | 07_masks | remark
A query with no allowed key gets the average of all values
    Return zeros for such a row: `weights.masked_fill(~mask.any(-1, keepdim=True), 0)`.

nan-on-empty-row | 07_masks | remark
A query with no allowed key gets NaN
    Fill the empty rows before the softmax and zero them after it, or never make such rows.
"""
