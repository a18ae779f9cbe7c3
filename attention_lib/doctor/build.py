"""Builds a candidate that was given as a class, with the usual small arguments."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from attention_lib.doctor.calling import bind
from attention_lib.doctor.guard import Failure, Runner
from attention_lib.doctor.pipeline import Sizes
from attention_lib.doctor.subject import Declared

__all__ = ["CannotBuild", "build", "materialise"]

_WIDTH, _HEADS, _LONGEST = 12, 3, 64
_VALUES: dict[tuple[str, ...], Any] = {
    ("d_model", "embed_dim", "dim", "n_embd", "hidden_size", "d_in", "d_out", "embed_size", "emb_size", "num_hiddens",
     "key_size", "query_size", "value_size", "d", "n_embed", "embedding_dim", "hidden_dim", "in_dim", "model_dim",
     "input_dim", "emb", "in_features", "out_features", "d_hidden", "out_dim", "dim_in", "dim_out", "emb_dim", "width",
     "embd", "C", "E", "D", "channels", "input_size", "inner_dim"): _WIDTH,
    ("num_heads", "n_heads", "n_head", "heads", "h", "nhead", "num_attention_heads", "H", "head", "nheads", "n_h",
     "num_kv_heads", "n_kv_heads"): _HEADS,
    ("d_k", "d_v", "dk", "dv", "dim_head", "head_dim", "d_head", "head_size", "dim_k", "dim_v"): _WIDTH // _HEADS,
    ("dropout", "dropout_p", "attn_dropout", "p", "attn_pdrop", "resid_pdrop", "dropout_rate", "drop", "proj_drop",
     "attn_drop", "dropout_prob", "attention_probs_dropout_prob", "hidden_dropout_prob"): 0.0,
    ("block_size", "context_length", "max_len", "seq_len", "max_seq_len", "n_ctx", "context_size", "max_length",
     "max_position_embeddings", "seq_length", "T"): _LONGEST,
    ("temperature", "scale"): (_WIDTH // _HEADS) ** 0.5,
    ("bias", "qkv_bias", "use_bias"): True,
}  # fmt: skip


class CannotBuild(ValueError):
    """The candidate is not callable, or a class whose arguments nobody could guess."""


def build(candidate: type, runner: Runner, declared: Declared) -> Any:
    """An instance of the class: d_model = 12 and three heads where it asks for them.

    Raises:
        CannotBuild: A required argument has no usual value, or the constructor raises.
    """
    try:
        parameters = inspect.signature(candidate).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    arguments = {parameter.name: _value(parameter.name, declared) for parameter in required}
    unknown = [name for name, value in arguments.items() if value is None]
    if unknown:
        raise CannotBuild(
            f"{candidate.__name__} is a class, and there is no usual value for {', '.join(unknown)}; "
            "give an instance instead"
        )
    built = runner.call(lambda: candidate(**arguments), grad=True)
    if isinstance(built, Failure):
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items() if name != "config")
        raise CannotBuild(f"{candidate.__name__}({given}) raises {built.message}; give an instance instead")
    return built


def materialise(module: nn.Module, runner: Runner) -> None:
    """Run a module with lazy layers once, at the width that their outputs suggest.

    Raises:
        CannotBuild: It does not run.
    """
    widths = [part.out_features for part in module.modules() if isinstance(part, nn.LazyLinear)]
    x = torch.zeros(2, 5, widths[0] if widths else _WIDTH)
    binding = bind(module, "multi_head")
    given: dict[str, Any] = {role: x for role in ("query", "key", "value") if role in binding.roles}
    args, kwargs = binding.arguments(given, Sizes(2, 1, 5, 5, x.shape[-1], x.shape[-1], x.shape[-1]))
    answer = runner.call(module, *args, **kwargs)
    if isinstance(answer, Failure):
        raise CannotBuild(f"its lazy layers have no weights yet, and a first call raises {answer.message}")


def _value(name: str, declared: Declared) -> Any:
    for names, value in _VALUES.items():
        if name in names:
            return declared.num_heads if value == _HEADS and declared.num_heads else value
    if name in ("config", "cfg", "args", "hparams", "conf"):
        return SimpleNamespace(**{known: value for names, value in _VALUES.items() for known in names})
    return None
