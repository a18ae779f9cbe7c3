"""How a candidate wants to be called: which of its parameters is the query, the mask, a width, an option."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from attention_lib.doctor.pipeline import Sizes

__all__ = ["Binding", "bind", "is_additive"]

_QUERY = {"query", "queries", "q", "qs", "xq", "query_states", "query_layer", "inputs_q", "q_in", "query_input", "q_x"}
_KEY = {"key", "keys", "k", "ks", "xk", "key_states", "key_layer", "inputs_k", "k_in", "key_input", "kv", "k_x"}
_VALUE = {"value", "values", "v", "vs", "xv", "val", "vals", "value_states", "value_layer", "inputs_v", "v_in", "v_x"}
_CONTEXT = {"context", "memory", "encoder_hidden_states", "key_value_states", "encoder_outputs", "y"}
_LENGTHS = {"valid_lens", "valid_len", "valid_lengths", "lengths", "lens", "seq_lens", "seq_lengths", "key_lengths"}
_WINDOW = {"window", "window_size", "sliding_window", "w"}
_CAUSAL = {"causal", "is_causal", "use_causal_mask", "autoregressive"}
_ADDITIVE = {"attn_bias", "attention_bias", "additive_mask", "mask_bias", "bias_mask", "score_bias"}
_CACHE = {
    "cache": {"cache", "kv_cache", "past", "layer_past", "past_key_value", "past_key_values", "past_kv", "past_kvs"},
    "use": {"use_cache", "return_cache"},
    "position": {"start_pos", "start_position", "offset", "position_offset", "pos_offset"},
}
_LIKE_A_MASK = {"bias", "keep", "allowed", "blocked", "visible", "valid", "attend"}  # after query, key and value

# What other required parameters get. Dropout is a probability or a module: both are tried.
_EXTRAS: dict[str, Callable[[Sizes], Any]] = {
    "d_k": lambda n: n.d_k, "dk": lambda n: n.d_k, "dim_k": lambda n: n.d_k, "key_dim": lambda n: n.d_k,
    "head_dim": lambda n: n.d_k, "d_head": lambda n: n.d_k, "dim_head": lambda n: n.d_k, "dim": lambda n: n.d_k,
    "d": lambda n: n.d_k, "depth": lambda n: n.d_k, "d_v": lambda n: n.d_v, "dv": lambda n: n.d_v,
    "d_model": lambda n: n.d_model, "embed_dim": lambda n: n.d_model, "num_heads": lambda n: n.H,
    "n_heads": lambda n: n.H, "n_head": lambda n: n.H, "heads": lambda n: n.H, "h": lambda n: n.H,
    "nhead": lambda n: n.H, "scale": lambda n: n.d_k**-0.5, "scaling": lambda n: n.d_k**-0.5,
    "temperature": lambda n: n.d_k**0.5, "scale_factor": lambda n: n.d_k**-0.5,
    "dropout": lambda n: 0.0, "dropout_p": lambda n: 0.0, "p": lambda n: 0.0, "p_drop": lambda n: 0.0,
    "training": lambda n: False, "train": lambda n: False, "batch_size": lambda n: n.B,
    "seq_len": lambda n: n.L, "L": lambda n: n.L, "S": lambda n: n.S,
}  # fmt: skip


@dataclass
class Binding:
    """Parameter names by role; ``call`` turns roles into arguments.

    Attributes:
        roles: Role (query, key, value, mask, padding, lengths, causal, window) to parameter name. An empty dict
            means that the signature cannot be read: everything goes by position.
        extras: Required parameters that are neither, with how to find their values.
        unknown: Required parameters that nobody could guess.
        defaults: Default values by role, where there are any.
        masks: All parameters that may be a mask; the role ``mask`` is one of them.
        cache: Parameters around a cache: ``cache`` itself, a flag to ``use`` it, the first token's ``position``.
            Empty when there is none, or when something else about positions must be known.
    """

    function: Callable[..., Any]
    roles: dict[str, str] = field(default_factory=dict)
    by_position: tuple[str, ...] = ()
    extras: dict[str, Callable[[Sizes], Any]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    masks: tuple[str, ...] = ()
    cache: dict[str, str] = field(default_factory=dict)

    def arguments(self, given: dict[str, Any], sizes: Sizes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for the given roles."""
        if not self.roles:
            return tuple(given.values()), {}
        by_name = {self.roles[role]: value for role, value in given.items() if role in self.roles}
        by_name |= {name: _ABSENT[role] for role, name in self.roles.items() if self._must_say(role, name, by_name)}
        by_name |= {name: make(sizes) for name, make in self.extras.items() if name not in by_name}
        positional = tuple(by_name.pop(name) for name in self.by_position if name in by_name)
        return positional, by_name

    def _must_say(self, role: str, name: str, by_name: dict[str, Any]) -> bool:
        return role in _ABSENT and role not in self.defaults and name not in by_name and role != "context"


# What required parameters get that are not wanted this time.
_ABSENT = {"mask": None, "padding": None, "lengths": None, "causal": False, "window": None}


def bind(function: Callable[..., Any], kind: str) -> Binding:
    """Read the signature of a function or of a module's forward.

    Args:
        function: The candidate.
        kind: ``attention``, ``multi_head``, or one of the small kinds, whose first parameter is all that matters.
    """
    try:
        signature = inspect.signature(function.forward if isinstance(function, nn.Module) else function)
    except (TypeError, ValueError):
        return Binding(function)
    parameters = list(signature.parameters.values())
    kinds = {p.kind for p in parameters}
    if kind == "attention" and kinds == {inspect.Parameter.VAR_KEYWORD}:
        return Binding(function, {role: role for role in ("query", "key", "value")})
    plain = [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not plain:
        return Binding(function)
    if inspect.Parameter.VAR_POSITIONAL in kinds and all(p.kind is p.KEYWORD_ONLY for p in plain):
        names = ("query", "key", "value") if kind == "attention" else ("x",)  # f(*tensors, mask=None)
        plain = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names] + plain
    roles = _roles(plain, kind)
    taken = set(roles.values())
    required = [p.name for p in plain if p.default is p.empty and p.name not in taken]
    extras = {name: _EXTRAS[name] for name in required if name in _EXTRAS}
    return Binding(
        function,
        roles,
        tuple(p.name for p in plain if p.kind is p.POSITIONAL_ONLY),
        extras,
        tuple(name for name in required if name not in _EXTRAS),
        {role: p.default for role, name in roles.items() for p in plain if p.name == name and p.default is not p.empty},
        tuple(p.name for p in plain if _role_by_name(p.name, kind) == "mask") or _one(roles.get("mask")),
        _around_a_cache(plain),
    )


def _around_a_cache(parameters: list[inspect.Parameter]) -> dict[str, str]:
    found: dict[str, str] = {}
    for parameter in parameters:
        name = parameter.name.lower().strip("_")
        role = next((role for role, names in _CACHE.items() if name in names), "")
        if role == "position" and not isinstance(parameter.default, int):
            role = ""
        if not role and "pos" in name:
            return {}
        if role:
            found[role] = parameter.name
    return found if "cache" in found else {}


def _one(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _roles(parameters: list[inspect.Parameter], kind: str) -> dict[str, str]:
    tensors = {"attention": 3, "multi_head": 1}.get(kind, 1)
    roles: dict[str, str] = {}
    for parameter in parameters:
        role = _role_by_name(parameter.name, kind)
        if role and role not in roles:
            roles[role] = parameter.name
    if kind == "attention" and not {"query", "key", "value"} <= set(roles):
        roles = {role: name for role, name in roles.items() if role not in ("query", "key", "value", "context")}
        free = [p.name for p in parameters if p.name not in roles.values()]
        roles |= dict(zip(("query", "key", "value"), free[:tensors], strict=False))
    if kind != "attention" and "query" not in roles:
        first = parameters[0].name
        roles = {role: name for role, name in roles.items() if name != first}
        roles["query"] = first
    if "mask" not in roles and "lengths" not in roles and "padding" not in roles:
        _mask_by_position(roles, parameters, kind)
    return roles


def is_additive(name: str) -> bool:
    """Whether a parameter's name says that it is added to the scores."""
    return name.lower().strip("_") in _ADDITIVE


def _role_by_name(name: str, kind: str) -> str:
    plain = name.lower().strip("_")
    for role, names in (("query", _QUERY), ("key", _KEY), ("value", _VALUE), ("lengths", _LENGTHS)):
        if plain in names:
            return role
    if plain in _CONTEXT and kind == "multi_head":
        return "context"
    if plain in _CAUSAL:
        return "causal"
    if plain in _WINDOW:
        return "window"
    if "padding_mask" in plain or "pad_mask" in plain:
        return "padding"
    if plain in _ADDITIVE or ("mask" in plain and "head_mask" not in plain):
        return "mask"
    return ""


def _mask_by_position(roles: dict[str, str], parameters: list[inspect.Parameter], kind: str) -> None:
    """A parameter right after the tensors that is optional or unknown is taken for the mask."""
    place = 3 if kind == "attention" else 1
    if kind == "multi_head" and "key" in roles:
        place = 3
    if len(parameters) <= place:
        return
    parameter = parameters[place]
    if parameter.name in roles.values() or parameter.kind is parameter.KEYWORD_ONLY or parameter.name in _EXTRAS:
        return
    short = len(parameter.name) <= 2 or (kind == "attention" and parameter.name.lower() in _LIKE_A_MASK)
    if parameter.default in (None, inspect.Parameter.empty) and short:
        roles["mask"] = parameter.name
