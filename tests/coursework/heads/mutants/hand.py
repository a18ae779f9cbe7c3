import torch


def split(x, H):
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


def attend(q, k, v, mask, scale):
    s = q @ k.mT * scale
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    return s.softmax(-1) @ v


# %% split: a reshape without transposing | split-without-transpose
def split_heads(x, num_heads):
    B, L, d_model = x.shape
    return x.reshape(B, num_heads, L, d_model // num_heads)


# %% split: dealt out like cards | convention-order
def split_heads(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


# %% split: positions before heads | convention-heads
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


# %% split: heads in front of the batch | convention-heads
def split_heads(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(2, 0, 1, 3)


# %% merge: a reshape without transposing | merge-without-transpose
def merge_heads(x):
    B, H, L, d = x.shape
    return x.reshape(B, L, H * d)


# %% merge: interleaved | convention-order
def merge_heads(x):
    return x.permute(0, 2, 3, 1).flatten(2)


# %% merge: heads expected after positions | convention-heads
def merge_heads(x):
    return x.flatten(2)


# %% layer: no scale | named
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, 1.0)) @ w_output


# %% layer: scaled by the whole width | named
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, x.shape[-1] ** -0.5)) @ w_output


# %% layer: no output matrix | named
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, q.shape[-1] ** -0.5))


# %% layer: matrices transposed | convention-matrices
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w.T, num_heads) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, q.shape[-1] ** -0.5)) @ w_output.T


# %% layer: the mask read the other way | convention-mask
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    mask = None if mask is None else ~mask
    return merge(attend(q, k, v, mask, q.shape[-1] ** -0.5)) @ w_output


# %% layer: merged without transposing | merge-without-transpose
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    return attend(q, k, v, mask, q.shape[-1] ** -0.5).reshape(x.shape) @ w_output


# %% layer: the input split, not its projections | heads-before-projection
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    parts = split(x, num_heads)
    d = parts.shape[-1]
    q, k, v = (parts @ w[:d, :d] for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, d**-0.5)) @ w_output


# %% layer: every head projects its own part of the input | heads-before-projection
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    d = x.shape[-1] // num_heads
    heads = [slice(h * d, (h + 1) * d) for h in range(num_heads)]
    q, k, v = (torch.stack([x[..., h] @ w[h, h] for h in heads], 1) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, mask, d**-0.5)) @ w_output


# %% layer: value from the key's matrix | value-from-key
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_key))
    return merge(attend(q, k, v, mask, q.shape[-1] ** -0.5)) @ w_output


# %% layer: softmax over the queries | softmax-over-queries
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    s = q @ k.mT * q.shape[-1] ** -0.5
    s = s if mask is None else s.masked_fill(~mask, float("-inf"))
    return merge(torch.softmax(s, dim=-2).nan_to_num() @ v) @ w_output


# %% layer: the mask ignored | padding-ignored
def multi_head(x, w_query, w_key, w_value, w_output, num_heads, mask=None):
    q, k, v = (split(x @ w, num_heads) for w in (w_query, w_key, w_value))
    return merge(attend(q, k, v, None, q.shape[-1] ** -0.5)) @ w_output
