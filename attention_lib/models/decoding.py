"""From a vote to the next token, and from tokens to the end of a text."""

from __future__ import annotations

import torch
from torch import Tensor

from attention_lib.arguments import check_generator
from attention_lib.axes import check_tensor, is_whole
from attention_lib.errors import OptionError, ShapeError
from attention_lib.shapes import Float, Int

__all__ = ["end_after", "next_token"]


def next_token(
    logits: Float[Tensor, "B symbols"],
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Int[Tensor, "B"]:
    r"""Choose one symbol a row.

    .. math:: p = \mathrm{softmax}(logits / temperature)

    Args:
        logits: ``(B, symbols)``.
        temperature: 0 takes the largest vote (greedy); 1 samples from the model; more is more even.
        top_k: Sample among the k largest only; None is all.
        generator: Where the randomness comes from, on the CPU; None is torch's own.

    Returns:
        ``(B,)`` symbols, on the device of ``logits``.

    Raises:
        ShapeError: ``logits`` are not ``(B, symbols)``.
        OptionError: ``temperature`` is negative or no number, or ``top_k`` is not in 1 ... symbols.

    Example:
        >>> next_token(torch.tensor([[0.0, 2.0, 1.0]]))
        tensor([1])

    Source: top-k sampling: Fan et al. (2018), section 5.4.
    """
    check_tensor("logits", logits)
    if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not temperature >= 0:
        raise OptionError(f"temperature={temperature!r} must be 0 (greedy) or more")
    if logits.ndim != 2 or not logits.is_floating_point():
        raise ShapeError(f"logits of shape {tuple(logits.shape)}, {logits.dtype}; it takes votes (B, symbols)")
    check_generator(generator)
    if top_k is not None and not (is_whole(top_k) and 1 <= top_k <= logits.shape[-1]):
        raise OptionError(f"top_k={top_k!r} must be from 1 to {logits.shape[-1]}, the number of symbols")
    if temperature == 0:
        return logits.argmax(dim=-1)
    if top_k is not None:
        smallest = logits.topk(top_k, dim=-1).values[:, -1:]  # (B, 1)
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    probabilities = torch.softmax(logits.float().cpu() / temperature, dim=-1)
    return torch.multinomial(probabilities, 1, generator=generator)[:, 0].to(logits.device)


def end_after(tokens: Int[Tensor, "B T"], end: int, pad: int) -> Int[Tensor, "B T"]:
    """Replace what follows the first ``end`` of each row by ``pad``.

    Example:
        >>> end_after(torch.tensor([[5, 2, 7, 2], [5, 6, 7, 8]]), end=2, pad=0)
        tensor([[5, 2, 0, 0],
                [5, 6, 7, 8]])
    """
    ended = (tokens == end).cumsum(dim=1) - (tokens == end).long()  # ends strictly before each place
    return tokens.masked_fill(ended > 0, pad)
