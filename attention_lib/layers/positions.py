"""Where a token stands: attention alone cannot tell, so positions are added to the input or turned into the queries.

Both kinds are computed, not learned: no parameter, any length. Letters: B batch, H heads, L length.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.arguments import check_number, check_whole
from attention_lib.axes import check_tensor, is_whole
from attention_lib.errors import OptionError, ShapeError
from attention_lib.shapes import Float

__all__ = ["RotaryPositions", "SinusoidalPositions", "position_angles", "rotate_pairs", "sinusoidal_table"]


def position_angles(length: int, width: int, *, offset: int = 0, base: float = 10000.0) -> Float[Tensor, "L pairs"]:
    r"""The angle of each pair of axes at each position.

    .. math:: \theta_{p, i} = p / base^{2i / width}

    Args:
        length: Number of positions L.
        width: Number of axes, even; two axes make a pair.
        offset: Position of the first one.
        base: The slowest pair turns about ``base`` times slower than the first, which turns 1 radian a step.

    Returns:
        Radians ``(L, width / 2)``, float64 on the CPU: the same digits whatever the model's dtype and device.

    Raises:
        OptionError: ``width`` is odd, or a number is below what it may be.

    Example:
        >>> position_angles(2, 4, offset=3, base=100.0)  # 3 and 4, and a tenth of both
        tensor([[3.0000, 0.3000],
                [4.0000, 0.4000]], dtype=torch.float64)

    Source: Vaswani et al. (2017), section 3.5; Su et al. (2021), RoFormer, equation 15.
    """
    _check_width(width)
    check_whole(0, length=length, offset=offset)
    check_number(1, base=base)
    positions = torch.arange(offset, offset + length, dtype=torch.float64)
    pairs = torch.arange(0, width, 2, dtype=torch.float64)
    return positions[:, None] / base ** (pairs / width)  # (L, width / 2)


def sinusoidal_table(
    length: int, d_model: int, *, offset: int = 0, base: float = 10000.0
) -> Float[Tensor, "L d_model"]:
    r"""One vector for each position: sines on the even axes, cosines on the odd ones.

    .. math:: P_{p, 2i} = \sin(p / base^{2i / d_{model}}), \quad P_{p, 2i+1} = \cos(p / base^{2i / d_{model}})

    Args:
        length: Number of positions L.
        d_model: Width, even.
        offset: Position of the first one.
        base: See :func:`position_angles`.

    Returns:
        ``(L, d_model)``, float64 on the CPU; every row has length sqrt(d_model / 2).

    Raises:
        OptionError: ``d_model`` is odd, or a number is below what it may be.

    Example:
        >>> sinusoidal_table(2, 2).round(decimals=3)  # sin 0, cos 0; sin 1, cos 1
        tensor([[0.0000, 1.0000],
                [0.8410, 0.5400]], dtype=torch.float64)

    Source: Vaswani et al. (2017), section 3.5.
    """
    angles = position_angles(length, d_model, offset=offset, base=base)  # (L, d_model / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)  # (L, d_model)


def rotate_pairs(x: Float[Tensor, "... L d"], angles: Float[Tensor, "L pairs"]) -> Float[Tensor, "... L d"]:
    r"""Turn each pair of neighbouring axes (2i, 2i + 1) by its angle.

    .. math:: (a, b) \mapsto (a \cos\theta - b \sin\theta, \; a \sin\theta + b \cos\theta)

    Args:
        x: ``(..., L, d)``, d even.
        angles: Radians ``(L, d / 2)``.

    Returns:
        ``(..., L, d)`` in the dtype of ``x``; no vector changes its length.

    Example:
        >>> rotate_pairs(torch.tensor([[3.0, 4.0]]), torch.tensor([[torch.pi / 2]])).round(decimals=3)
        tensor([[-4.,  3.]])

    Source: Su et al. (2021), RoFormer, equation 34.
    """
    cos, sin = angles.cos().to(x), angles.sin().to(x)  # (L, d / 2) each
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)  # (..., L, d / 2) each
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)  # (..., L, d)


class SinusoidalPositions(nn.Module):
    """Adds a fixed vector for each position to the input: see :func:`sinusoidal_table`.

    Args:
        d_model: Width of the input, even.
        base: See :func:`position_angles`.

    Raises:
        OptionError: ``d_model`` is odd.

    Example:
        >>> SinusoidalPositions(2)(torch.zeros(1, 2, 2)).round(decimals=3)
        tensor([[[0.0000, 1.0000],
                 [0.8410, 0.5400]]])

    Source: Vaswani et al. (2017), section 3.5.
    """

    def __init__(self, d_model: int, *, base: float = 10000.0) -> None:
        super().__init__()
        _check_width(d_model)
        self.d_model, self.base = d_model, base

    def forward(self, x: Float[Tensor, "B L d_model"], *, offset: int = 0) -> Float[Tensor, "B L d_model"]:
        """Add the positions ``offset`` ... ``offset + L - 1``.

        Args:
            x: ``(B, L, d_model)``.
            offset: How many positions came before (the length of a cache).

        Returns:
            ``(B, L, d_model)`` in the dtype of ``x``.

        Raises:
            ShapeError: The last axis of ``x`` is not ``d_model``.
        """
        check_tensor("x", x)
        if x.ndim < 2 or x.shape[-1] != self.d_model:
            raise ShapeError(
                f"axis d_model is {x.shape[-1] if x.ndim else 0} in x but {self.d_model} in SinusoidalPositions; "
                f"shape {tuple(x.shape)}; it reads (B, L, {self.d_model}): build it for another width with d_model=..."
            )
        return x + sinusoidal_table(x.shape[-2], self.d_model, offset=offset, base=self.base).to(x)


class RotaryPositions(nn.Module):
    r"""Turns queries and keys by their position, so that a score depends on the distance alone.

    .. math:: (R_m q) \cdot (R_n k) = q \cdot R_{n - m} k

    Args:
        d_head: Width of one head, even.
        base: See :func:`position_angles`.

    Raises:
        OptionError: ``d_head`` is odd.

    Example:
        The same query and key, two apart at positions (0, 2) and at (5, 7): the same score.

        >>> rotary, x = RotaryPositions(2), torch.tensor([1.0, 0.0]).expand(1, 1, 8, 2)
        >>> query, key = rotary(x, x)
        >>> scores = (query @ key.transpose(-2, -1))[0, 0]
        >>> f"{scores[0, 2]:.3f} {scores[5, 7]:.3f}"  # cos 2
        '-0.416 -0.416'

    Source: Su et al. (2021), RoFormer, section 3.2; pairs are neighbours (2i, 2i + 1) as in the paper, not the two
    halves of the head as in some code.
    """

    def __init__(self, d_head: int, *, base: float = 10000.0) -> None:
        super().__init__()
        _check_width(d_head, "d_head")
        self.d_head, self.base = d_head, base

    def forward(
        self, query: Float[Tensor, "B H L d_head"], key: Float[Tensor, "B H_kv L d_head"], *, offset: int = 0
    ) -> tuple[Float[Tensor, "B H L d_head"], Float[Tensor, "B H_kv L d_head"]]:
        """Turn new queries and the keys of the same positions.

        Args:
            query: ``(B, H, L, d_head)``.
            key: ``(B, H_kv, L, d_head)``, the same L positions.
            offset: How many positions came before; keys already in a cache were turned when they were new.

        Returns:
            The turned query and key, shapes and dtypes as they came.

        Raises:
            ShapeError: The width is not ``d_head``, or query and key cover different numbers of positions.
        """
        for name, x in (("query", query), ("key", key)):
            check_tensor(name, x)
            if x.ndim < 2 or x.shape[-1] != self.d_head:
                raise ShapeError(
                    f"axis d_head is {x.shape[-1] if x.ndim else 0} in {name} but {self.d_head} in RotaryPositions; "
                    f"shape {tuple(x.shape)}; it reads (B, H, L, {self.d_head}): build it for another with d_head=..."
                )
        if query.shape[-2] != key.shape[-2]:
            raise ShapeError(
                f"axis L is {query.shape[-2]} in query but {key.shape[-2]} in key; shapes {tuple(query.shape)} and "
                f"{tuple(key.shape)}; turn the new positions only, and append to the cache afterwards"
            )
        angles = position_angles(query.shape[-2], self.d_head, offset=offset, base=self.base)
        return rotate_pairs(query, angles), rotate_pairs(key, angles)


def _check_width(width: int, name: str = "d_model") -> None:
    if not is_whole(width) or width < 2 or width % 2:
        near = f"; choose {name}={width + 1}" if is_whole(width) and width % 2 and width > 0 else ""
        raise OptionError(f"{name}={width!r} must be an even whole number, 2 or more: axes are paired{near}")
