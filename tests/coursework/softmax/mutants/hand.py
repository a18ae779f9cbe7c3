import torch
import torch.nn.functional as F


# %% over the queries | convention-axis
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-2)


# %% the mask read the other way | mask-inverted
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, dim=-1))


# %% the mask ignored | padding-ignored
def masked_softmax(scores, mask=None):
    return torch.softmax(scores, dim=-1)


# %% the mask after the softmax | mask-after-softmax
def masked_softmax(scores, mask=None):
    weights = torch.softmax(scores, dim=-1)
    return weights if mask is None else weights * mask


# %% filled with zero | mask-fill-zero
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores * mask
    return torch.softmax(scores, dim=-1)


# %% filled with minus one | mask-fill-weak
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1.0)
    return torch.softmax(scores, dim=-1)


# %% the mask added as 0 and 1 | float-mask-added
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    return torch.softmax(scores, dim=-1)


# %% NaN in empty rows | nan-on-empty-row
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1)


# %% uniform in empty rows | uniform-on-empty-row
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return F.softmax(scores, dim=-1)


# %% overflow | softmax-unstable
def masked_softmax(scores, mask=None):
    raised = torch.exp(scores)
    if mask is not None:
        raised = raised * mask
    total = raised.sum(-1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1.0)


# %% not normalised | unnormalised-weights
def masked_softmax(scores, mask=None):
    raised = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return raised if mask is None else raised * mask


# %% logarithms returned | convention-returns
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.log_softmax(scores, dim=-1)


# %% softmax twice | double-softmax
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1).softmax(-1)


# %% the whole table sums to one | softmax-wrong-axis
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scores.flatten(-2).softmax(-1).reshape(scores.shape)


# %% backward: the diagonal term | named
def softmax_backward(weights, grad_weights):
    return weights * grad_weights


# %% backward: the diagonal of the Jacobian | named
def softmax_backward(weights, grad_weights):
    return weights * (1 - weights) * grad_weights


# %% backward: a plain sum | named
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - grad_weights.sum(dim=-1, keepdim=True))


# %% backward: a plain mean | named
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - grad_weights.mean(dim=-1, keepdim=True))


# %% backward: over the queries | convention-axis
def softmax_backward(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(dim=-2, keepdim=True))


# %% backward: the sign | named
def softmax_backward(weights, grad_weights):
    return weights * ((weights * grad_weights).sum(dim=-1, keepdim=True) - grad_weights)


# %% backward: the gradient passed on | differs
def softmax_backward(weights, grad_weights):
    return grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)


# %% one maximum for the whole tensor | wrong-differs
def masked_softmax(scores, mask=None):
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    raised = torch.exp(scores - scores[scores > -torch.inf].max())
    weights = raised / raised.sum(-1, keepdim=True)
    return weights.nan_to_num(0.0)


# %% the maximum of blocked scores too | wrong-differs
def masked_softmax(scores, mask=None):
    raised = torch.exp(scores - scores.amax(-1, keepdim=True))
    if mask is not None:
        raised = raised * mask
    return (raised / raised.sum(-1, keepdim=True)).nan_to_num(0.0)


# %% changes its scores | mutates-input
def masked_softmax(scores, mask=None):
    scores -= scores.amax(-1, keepdim=True)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, dim=-1).nan_to_num(0.0)


# %% backward: autograd | withheld
def softmax_backward(weights, grad_weights):
    with torch.enable_grad():
        scores = weights.log().requires_grad_()
        (grad,) = torch.autograd.grad(torch.softmax(scores, dim=-1), scores, grad_weights)
    return grad.nan_to_num(0.0)


# %% backward: torch's own | withheld
def softmax_backward(weights, grad_weights):
    return torch._softmax_backward_data(grad_weights, weights, weights.ndim - 1, weights.dtype)
