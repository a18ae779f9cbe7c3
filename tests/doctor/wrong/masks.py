"""Mistakes with masks, causal ones and windows included."""

import math

import torch
from specimens import wrong
from torch import nn
from torch.nn import functional as F


@wrong("mask-inverted", repair=("masked_fill(mask,", "masked_fill(~mask,"))
def blocks_what_is_allowed(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-inverted")
def fused_with_the_other_polarity(query, key, value, attn_mask=None):
    return F.scaled_dot_product_attention(query, key, value, None if attn_mask is None else ~attn_mask)


@wrong("mask-inverted")
def old_style_penalty(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask.to(scores.dtype) * -1e9
    return torch.softmax(scores, dim=-1) @ value


@wrong(
    "padding-ignored",
    repair=(
        "return torch",
        "scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)\n    return torch",
    ),
)
def takes_a_mask_and_forgets_it(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    return torch.softmax(scores, dim=-1) @ value


@wrong("padding-ignored")
def result_thrown_away(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-transposed")
def masks_rows(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask.transpose(-2, -1), -1e9)
    return torch.softmax(scores, dim=-1) @ value


@wrong(
    "mask-after-softmax",
    repair=(
        "weights = torch",
        "scores = scores if mask is None else scores.masked_fill(~mask, -math.inf)\n    weights = torch",
    ),
)
def zeroes_afterwards(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value


@wrong("mask-after-softmax")
def fills_probabilities(q, k, v, mask=None):
    p = F.softmax(torch.einsum("...ld,...sd->...ls", q, k) * q.shape[-1] ** -0.5, dim=-1)
    if mask is not None:
        p = p.masked_fill(mask == 0, 0.0)
    return torch.einsum("...ls,...sd->...ld", p, v)


@wrong("mask-fill-zero", repair=("scores * mask", "scores.masked_fill(~mask, -math.inf)"))
def multiplies_scores(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-fill-zero")
def typo_in_the_exponent(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e-9)
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-fill-weak", repair=("~mask, -1)", "~mask, -math.inf)"))
def fills_with_minus_one(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1)
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-fill-positive", repair=("1e9", "-1e9"))
def forgot_the_minus(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, 1e9)
    return torch.softmax(scores, dim=-1) @ value


@wrong("float-mask-added", repair=("scores + mask.to(scores.dtype)", "scores.masked_fill(~mask, -math.inf)"))
def adds_ones(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    return torch.softmax(scores, dim=-1) @ value


@wrong("float-mask-added")
def float_mask_for_the_fused_call(query, key, value, mask=None):
    mask = None if mask is None else mask.to(query.dtype)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)


@wrong("mask-raises")
def expects_no_booleans(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill_(mask.unsqueeze(7) == 0, -1e9)
    return torch.softmax(scores, dim=-1) @ value


@wrong("mask-wrong-sample", repair=(".repeat(H, 1, 1)", ".repeat_interleave(H, dim=0)"))
def repeats_masks_in_the_wrong_order(query, key, value, mask=None):
    B, H, L, d = query.shape
    q, k, v = (t.reshape(B * H, -1, t.shape[-1]) for t in (query, key, value))
    scores = q.bmm(k.transpose(1, 2)) / d**0.5
    if mask is not None:
        mask = mask.expand(B, 1, L, k.shape[1])[:, 0].repeat(H, 1, 1)
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1).bmm(v).view(B, H, L, -1)


@wrong(
    "uniform-on-empty-row", strict=True, repair=("dim=-1) @ value", "dim=-1) * (1 if mask is None else mask) @ value")
)
def large_negative_number(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ value


@wrong("nan-on-empty-row", strict=True)
def minus_infinity_everywhere(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


@wrong("half-overflow", strict=True, repair=("-1e9)", "torch.finfo(scores.dtype).min)"))
def too_low_for_half(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
        return torch.softmax(scores, dim=-1) * mask.any(-1, keepdim=True) @ value
    return torch.softmax(scores, dim=-1) @ value


@wrong("future-leak", causal=True)
def decoder_without_mask(query, key, value):
    return torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value


@wrong("causal-sees-next", causal=True, repair=("diagonal=2", "diagonal=1"))
def one_ahead(q, k, v):
    L = q.size(-2)
    blocked = torch.ones(L, L, dtype=torch.bool).triu(diagonal=2)
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(blocked, float("-inf")).softmax(-1) @ v


@wrong("causal-excludes-itself", causal=True, repair=("triu()", "triu(1)"))
def blind_to_itself(q, k, v):
    L = q.size(-2)
    blocked = torch.ones(L, L, dtype=torch.bool).triu()
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(blocked, -1e9).softmax(-1) @ v


@wrong("mask-inverted", causal=True)
def sees_only_the_future(q, k, v):
    L = q.size(-2)
    upper = torch.ones(L, L, dtype=torch.bool).triu(1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=upper)


@wrong("mask-transposed", causal=True)
def upper_instead_of_lower(q, k, v):
    allowed = torch.ones(q.size(-2), q.size(-2)).triu()
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(allowed == 0, -torch.inf).softmax(-1) @ v


@wrong("causal-misaligned", causal=True, repair=("tril()", "tril(S - L)"))
def aligned_top_left(query, key, value):
    L, S = query.size(-2), key.size(-2)
    allowed = torch.ones(L, S, dtype=torch.bool).tril()
    return F.scaled_dot_product_attention(query, key, value, attn_mask=allowed)


@wrong("mask-fill-zero", "causal-misaligned", causal=True)
def triangle_times_scores(q, k, v):
    scores = q @ k.mT / q.size(-1) ** 0.5
    return torch.softmax(torch.tril(scores), -1) @ v


@wrong("mask-after-softmax", "causal-misaligned", causal=True)
def triangle_of_weights(q, k, v):
    weights = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, -1)
    return torch.tril(weights) @ v


@wrong("window-off-by-one", causal=True, window=3, repair=("<= window", "< window"))
def one_key_too_many(q, k, v, window=3):
    i = torch.arange(q.size(-2))
    behind = i[:, None] - i
    allowed = (behind >= 0) & (behind <= window)
    return (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~allowed, -1e9).softmax(-1) @ v


@wrong(
    "window-ignored",
    "causal-misaligned",
    causal=True,
    window=3,
    repair=(
        "    return F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        "    L, S = q.size(-2), k.size(-2)\n"
        "    allowed = torch.ones(L, S, dtype=torch.bool).tril(S - L).triu(S - L - 2)\n"
        "    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)",
    ),
)
def causal_but_no_window(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@wrong("future-leak", kind="multi_head", causal=True)
class DecoderThatForgets(nn.Module):
    def __init__(self, n_embd=12, n_head=3, block_size=64):
        super().__init__()
        self.n_head = n_head
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size))[None, None])

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) / math.sqrt(k.size(-1))
        att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        return self.c_proj((att.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


@wrong("mask-inverted", kind="multi_head")
class WrapsTorchWithTheWrongPolarity(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    def forward(self, x, mask=None):
        return self.mha(x, x, x, attn_mask=mask, need_weights=False)[0]


@wrong("padding-ignored", kind="multi_head")
class PaddingMaskNotPassedOn(nn.Module):
    def __init__(self, dim=12, heads=3):
        super().__init__()
        self.h = heads
        self.qkv, self.o = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, key_padding_mask=None):
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


@wrong("mask-inverted", kind="multi_head")
class WantsItsMaskTheOtherWayRound(nn.Module):
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask):
        B, L, d_model = x.shape
        parts = (layer(x) for layer in (self.w_q, self.w_k, self.w_v))
        query, key, value = (part.view(B, L, self.num_heads, -1).transpose(1, 2) for part in parts)
        scores = query @ key.transpose(-1, -2) / math.sqrt(d_model // self.num_heads)
        weights = scores.masked_fill(mask, -1e9).softmax(-1)
        return self.w_o((weights @ value).transpose(1, 2).reshape(B, L, d_model))


@wrong("missing-scale")
def unscaled_and_wants_its_mask(query, key, value, mask):
    return torch.softmax((query @ key.mT).masked_fill(~mask, -math.inf), dim=-1) @ value
