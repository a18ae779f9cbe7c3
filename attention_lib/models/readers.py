"""Encoder-only models: one answer for every token, or one for the whole sequence."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attention_lib.errors import ShapeError
from attention_lib.layers.stacks import EncoderStack, LayerSpec, check_spec
from attention_lib.models.arguments import check_count, check_lengths
from attention_lib.models.embedding import TokenEmbedding
from attention_lib.models.language_model import ModelOutput
from attention_lib.shapes import Float, Int
from attention_lib.steps.masks import padding_mask

__all__ = ["SequenceClassifier", "TokenTagger"]


class TokenTagger(nn.Module):
    """Reads a whole sequence of tokens and answers at each of them.

    Args:
        symbols: Number of different tokens.
        answers: Number of different answers.
        spec: What each layer is like.
        num_layers: How many.
        positions: "learned", "sinusoidal" or None.
        longest: Greatest number of positions, for "learned" alone.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> TokenTagger(11, 3, LayerSpec(8, 2), 2)(torch.zeros(2, 5).long()).logits.shape
        torch.Size([2, 5, 3])
    """

    def __init__(
        self,
        symbols: int,
        answers: int,
        spec: LayerSpec,
        num_layers: int = 2,
        *,
        positions: str | None = "learned",
        longest: int = 512,
    ) -> None:
        super().__init__()
        check_spec(spec)
        check_count(answers=answers)
        self.embedding = TokenEmbedding(symbols, spec.d_model, positions=positions, longest=longest)
        self.stack = EncoderStack(num_layers, spec)
        self.vote = nn.Linear(spec.d_model, answers)

    def forward(
        self,
        tokens: Int[Tensor, "B L"],
        lengths: Int[Tensor, "B"] | None = None,
        *,
        causal: bool = False,
        window: int | None = None,
        need_weights: bool = False,
    ) -> ModelOutput:
        """Vote at every position.

        Args:
            tokens: ``(B, L)``.
            lengths: How many tokens of each sequence count; None is all.
            causal: Positions see no later position.
            window: Each position sees exactly this many, itself included, in every layer.
            need_weights: Also return every layer's weights.

        Returns:
            ``ModelOutput``: logits ``(B, L, answers)``, weights one ``(B, H, L, L)`` a layer, or None.

        Raises:
            ShapeError, OptionError: Tokens, lengths or window do not fit.
        """
        check_lengths(lengths, tokens)
        mask = None if lengths is None else padding_mask(lengths.to(tokens.device), tokens.shape[1])
        x = self.embedding(tokens)  # (B, L, d_model)
        x, weights, _ = self.stack(x, mask, causal=causal, window=window, need_weights=need_weights)
        return ModelOutput(self.vote(x), weights)


class SequenceClassifier(nn.Module):
    """Reads a sequence of vectors, an image cut into rows or patches say, and gives one answer for all of it.

    Each vector is projected and gets a learned position; the layers' outputs are averaged before the vote.

    Args:
        d_in: Width of one vector.
        length: Number of vectors L.
        classes: Number of different answers.
        spec: What each layer is like.
        num_layers: How many.

    Raises:
        OptionError: An option is out of range.

    Example:
        >>> SequenceClassifier(6, 5, 3, LayerSpec(8, 2))(torch.zeros(2, 5, 6)).logits.shape
        torch.Size([2, 3])

    Source: Dosovitskiy et al. (2020), An Image is Worth 16x16 Words, section 3.1 (with the mean for the class token).
    """

    def __init__(self, d_in: int, length: int, classes: int, spec: LayerSpec, num_layers: int = 2) -> None:
        super().__init__()
        check_spec(spec)
        check_count(d_in=d_in, length=length, classes=classes)
        self.project = nn.Linear(d_in, spec.d_model)
        self.positions = nn.Parameter(torch.randn(length, spec.d_model) * 0.5)
        self.stack = EncoderStack(num_layers, spec)
        self.vote = nn.Linear(spec.d_model, classes)

    def forward(self, x: Float[Tensor, "B L d_in"], *, need_weights: bool = False) -> ModelOutput:
        """Vote once a sequence.

        Args:
            x: ``(B, L, d_in)``.
            need_weights: Also return every layer's weights.

        Returns:
            ``ModelOutput``: logits ``(B, classes)``, weights one ``(B, H, L, L)`` a layer, or None.

        Raises:
            ShapeError: Another length or width than the model was built for.
        """
        expected = (self.positions.shape[0], self.project.in_features)
        if x.ndim != 3 or tuple(x.shape[1:]) != expected:
            raise ShapeError(
                f"x has shape {tuple(x.shape)}; this model reads (B, length={expected[0]}, d_in={expected[1]})"
            )
        x = self.project(x) + self.positions  # (B, L, d_model)
        x, weights, _ = self.stack(x, need_weights=need_weights)
        return ModelOutput(self.vote(x.mean(dim=1)), weights)
