"""How wrong is a vote for each token, and how many answers are right?"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from attention_lib.axes import check_tensor
from attention_lib.errors import ShapeError
from attention_lib.shapes import Float, Int

__all__ = ["exact_match", "token_accuracy", "token_loss"]


def token_loss(
    logits: Float[Tensor, "*places symbols"], target: Int[Tensor, "*places"], *, ignore: int | None = None
) -> Float[Tensor, ""]:
    r"""Mean cross-entropy over all tokens that count.

    .. math:: -\frac{1}{n} \sum_{target_i \ne ignore} \log \mathrm{softmax}(logits_i)_{target_i}

    Args:
        logits: ``(B, T, symbols)`` or ``(B, symbols)``.
        target: ``(B, T)`` or ``(B,)``.
        ignore: The padding symbol, which does not count.

    Returns:
        One number, in nats; guessing among V symbols costs ln V.

    Raises:
        ShapeError: ``target`` does not have the shape of ``logits`` without its last axis.

    Example:
        >>> round(token_loss(torch.zeros(2, 3, 8), torch.zeros(2, 3).long()).item(), 4)  # ln 8
        2.0794
    """
    _check(logits, target)
    return cross_entropy(logits.flatten(0, -2), target.flatten(), ignore_index=-100 if ignore is None else ignore)


def token_accuracy(
    logits: Float[Tensor, "*places symbols"], target: Int[Tensor, "*places"], *, ignore: int | None = None
) -> float:
    """Share of the tokens that count whose largest vote is right, 0 to 1.

    Raises:
        ShapeError: ``target`` does not have the shape of ``logits`` without its last axis.

    Example:
        >>> token_accuracy(torch.eye(4)[None], torch.tensor([[0, 1, 2, 0]]))
        0.75
    """
    _check(logits, target)
    counts = torch.ones_like(target, dtype=torch.bool) if ignore is None else target != ignore
    return (logits.argmax(dim=-1) == target)[counts].double().mean().item()


def exact_match(written: Int[Tensor, "B T"], target: Int[Tensor, "B T_target"], *, pad: int = 0) -> float:
    """Share of sequences that are right from beginning to end, 0 to 1; trailing ``pad`` does not count.

    Example:
        >>> exact_match(torch.tensor([[5, 2, 0], [5, 6, 2]]), torch.tensor([[5, 2], [5, 2]]))
        0.5
    """
    check_tensor("written", written)
    check_tensor("target", target)
    if written.ndim != 2 or target.ndim != 2 or written.shape[0] != target.shape[0]:
        raise ShapeError(
            f"written has shape {tuple(written.shape)} but target {tuple(target.shape)}; both are (B, length), equal B"
        )
    longest = max(written.shape[1], target.shape[1])
    pairs = (torch.nn.functional.pad(tokens, (0, longest - tokens.shape[1]), value=pad) for tokens in (written, target))
    return torch.eq(*pairs).all(dim=1).double().mean().item()


def _check(logits: Tensor, target: Tensor) -> None:
    check_tensor("logits", logits)
    check_tensor("target", target)
    if logits.ndim < 2 or target.shape != logits.shape[:-1]:
        raise ShapeError(
            f"target has shape {tuple(target.shape)} beside logits of shape {tuple(logits.shape)}; it must be "
            f"{tuple(logits.shape[:-1])}, one right symbol for each row of votes"
        )
    if target.dtype != torch.int64:
        raise ShapeError(f"target has dtype {target.dtype}; it holds the numbers of symbols: target.long()")
