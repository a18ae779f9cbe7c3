# course-secret: attention-51be08
import torch
from torch import einsum

late = VARIANT["layout"] == "BLHd"
Q, K, OUT = ("blhd", "bshd", "blhe") if late else ("bhld", "bhsd", "bhle")
V = "bshe" if late else "bhse"


class Softmax:
    def __init__(self, tau):
        self.tau = tau

    def forward(self, q, k, mask):
        s = einsum(f"{Q},{K}->bhls", q, k) * (q.size(-1) ** -0.5) / self.tau
        if mask is None:
            return s.softmax(-1)
        kind = VARIANT["mask"]
        ok = mask.isfinite() if kind == "additive" else mask.logical_not() if kind == "blocked" else mask
        e = (s - s.masked_fill(~ok, -torch.inf).amax(-1, True).clamp(min=torch.finfo(s.dtype).min)).clamp(max=0).exp() * ok
        return e / e.sum(-1, True).clamp(min=torch.finfo(e.dtype).tiny)


soft = Softmax(VARIANT["temperature"])


def attention(query, key, value, mask=None):
    p = soft.forward(query, key, mask)
    out = einsum(f"bhls,{V}->{OUT}", p, value)
    return [out, torch.log(p)] if VARIANT["gives"] == "output_log_weights" else out


def attention_backward(query, key, value, mask, grad_output):
    p = soft.forward(query, key, mask)
    dv = einsum(f"bhls,{OUT}->{V}", p, grad_output)
    dp = einsum(f"{OUT},{V}->bhls", grad_output, value)
    ds = p * dp
    ds = ds - p * ds.sum(-1, keepdim=True)
    factor = query.size(-1) ** -0.5 / VARIANT["temperature"]
    return [einsum(f"bhls,{K}->{Q}", ds, key) * factor, einsum(f"bhls,{Q}->{K}", ds, query) * factor, dv]
