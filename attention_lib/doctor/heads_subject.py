"""Candidates of kind ``multi_head``: an ``nn.Module`` with its own projections."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_lib.doctor import readings
from attention_lib.doctor.heads_menu import HeadsMaterial, heads_menu
from attention_lib.doctor.inputs import normal
from attention_lib.doctor.linears import Matrix
from attention_lib.doctor.modes import backward, weighting
from attention_lib.doctor.module_facts import as_image, by_role, fewer, plain, says_causal
from attention_lib.doctor.pipeline import Case, Material, Menu, Recipe, Sizes, evaluate, scores_of
from attention_lib.doctor.projections import Projections, count_heads, find_projections
from attention_lib.doctor.properties import HEADS_PROPERTIES
from attention_lib.doctor.replies import Reply
from attention_lib.doctor.subject import Cut, Layout, Subject

__all__ = ["HeadsSubject", "NoProjections"]


class NoProjections(ValueError):
    """A module without at least three matrices is no multi-head attention."""


def _lengths(seed: int) -> tuple[tuple[int, ...], ...]:
    """Lengths to choose L and S from, for each of the three sizes; other ones for every seed."""
    if seed == 0:
        return (5, 7, 6, 4), (7, 3, 11), (19, 23, 29)
    draw = random.Random(seed).sample  # the first ones are short: some modules hold a mask of 8 tokens only
    return tuple(draw([4, 5, 6, 7, 8], 5)), tuple(draw([3, 5, 7, 11, 13], 4)), tuple(draw([17, 19, 23, 29], 4))


@dataclass
class HeadsSubject(Subject):
    """A private copy of a module in float64, with random projections that hide nothing."""

    projections: Projections = field(default_factory=Projections)
    num_heads: int | None = None
    own: bool = True
    batch_first: bool = True
    grouped: int = 1
    inner: int = 0
    heads_unknown: bool = False
    qk_norms: dict[str, nn.Module] = field(default_factory=dict)
    pre_norm: nn.Module | None = None
    post_norm: nn.Module | None = None
    shapes_of: dict[str, Any] | None = None
    known_shapes: dict[str, torch.Size] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        module = self.module
        assert module is not None
        try:
            found = find_projections(module, self.declared.projections, self.declared.num_heads)
            if found is None:
                raise NoProjections("fewer than three projection matrices were found in the module")
            self.projections = found
            self._count(module)
        except (RuntimeError, KeyError) as error:
            raise NoProjections(f"its projections are no plain linear maps: {error}") from error
        if self.own:
            module.to(torch.float64)
            self._randomise(module)
        self.device = next(module.parameters()).device
        self._look_for_declarations(module)
        self._set_menu(self.cross)

    def _count(self, module: nn.Module) -> None:
        inner = self.matrices()["query"][0].shape[0]
        self.inner = inner
        self.num_heads = self.declared.num_heads or count_heads(module, self.projections, inner)
        if self.num_heads and not self.declared.num_heads:  # fused matrices have a layout by heads
            again = find_projections(module, self.declared.projections, self.num_heads)
            self.projections = again or self.projections
        if (self.num_heads or 1) > 1 and inner * (self.num_heads or 1) == self._d_model_by_output():
            self.projections.shared_by_heads = True
            self.always_flagged.append(("input-split", self._split_text(inner)))
        if self.num_heads is None:
            self.num_heads, self.heads_unknown = 1, True

    def counts(self) -> Iterator[int]:
        """Numbers of heads to try on a module that does not say: its own whole numbers, then all that divide."""
        assert self.module is not None
        own = [n for part in self.module.modules() for n in vars(part).values() if isinstance(n, int)]
        for count in dict.fromkeys([*own, *range(2, self.inner)]):
            if self.heads_unknown and 1 < count < self.inner and self.inner % count == 0:
                yield int(count)

    def take_heads(self, count: int) -> None:
        """Suppose that the module has this many heads; a fused matrix has its layout by heads."""
        assert self.module is not None
        self.num_heads = count
        found = find_projections(self.module, self.declared.projections, count)
        self.projections = found or self.projections
        self._set_menu(self.cross)

    @property
    def cross(self) -> bool:
        return "key" in self.binding.roles or "context" in self.binding.roles

    def _d_model_by_output(self) -> int:
        output = self.matrices().get("output")
        return -1 if output is None else output[0].shape[1]

    def _split_text(self, width: int) -> str:
        H = self.num_heads or 1
        return (
            f"Its query matrix is {width} x {width} for H = {H} heads and d_model = {width * H}: each head reads only "
            f"{width} of the {width * H} features, and all heads share {width * width} weights instead of having "
            f"{(width * H) ** 2} of their own."
        )

    def _randomise(self, module: nn.Module) -> None:
        generator = torch.Generator().manual_seed(self.declared.seed + 77)
        for name, parameter in module.named_parameters():
            if name not in self.projections.used:
                continue
            fan_in = parameter.shape[-1] if parameter.ndim > 1 else 4
            drawn = normal(*parameter.shape, generator=generator) * (1.3 / fan_in**0.5)
            parameter.data.copy_(drawn)

    def _look_for_declarations(self, module: nn.Module) -> None:
        """What the module itself says: batch axis, causality, convention of its masks."""
        if type(module) is nn.MultiheadAttention:
            self.batch_first = module.batch_first
            self.declared = replace(self.declared, mask="blocked")
        elif getattr(module, "batch_first", True) is False:
            self.batch_first = False
        if type(module).__module__.startswith("transformers."):
            if self.declared.mask == "allowed":
                self.declared = replace(self.declared, mask="additive")
                self.notes.append("masks are additive, as everywhere in transformers, and causality comes with them")
        elif not self.declared.causal and says_causal(module):
            self.declared = replace(self.declared, causal=True)
            self.variants.append("causal")

    def _set_menu(self, cross: bool) -> None:
        matrices = self.matrices()
        inner, keys = matrices["query"][0].shape[0], matrices["key"][0].shape[0]
        self.grouped = inner // keys if keys and inner % keys == 0 else 1
        if self.grouped > 1:
            self.variants.append("grouped-query")
        without = self.declared.projections is not None and self.declared.projections.get("output", "") is None
        needs = (self.num_heads or 1) > 1 and not without
        self.menu = heads_menu(
            self.declared, cross=cross, grouped=self.grouped > 1, has_output="output" in matrices, needs_output=needs
        )

    # Reading the module.

    def _params(self) -> dict[str, Tensor]:
        assert self.module is not None
        return {name: tensor.detach() for name, tensor in self.module.state_dict(keep_vars=True).items()}

    def matrices(self, params: dict[str, Tensor] | None = None) -> dict[str, Matrix]:
        """The projections by role, read from the module or from given parameters."""
        params = self._params() if params is None else params
        matrices = {}
        for role, read in self.projections.roles.items():
            weight, bias = read(params)
            weight, bias = plain(weight), None if bias is None else plain(bias)
            if self.projections.shared_by_heads and role != "output":
                weight = torch.block_diag(*[weight] * (self.num_heads or 1))
                bias = None if bias is None else bias.repeat(self.num_heads or 1)
            matrices[role] = (weight, bias)
        return matrices

    def shapes(self) -> dict[str, torch.Size]:
        """The shapes (out, in) of the projections, read once for every reading of the module."""
        roles = self.projections.roles
        if self.shapes_of is not roles:
            self.shapes_of, self.known_shapes = roles, {role: w.shape for role, (w, _) in self.matrices().items()}
        return self.known_shapes

    # What a subject must say.

    def layouts(self) -> Iterator[Layout]:
        assert self.module is not None
        own = next(self.module.parameters()).dtype
        for dtype in (torch.float64, torch.float32) if self.own else (own,):
            if self.cross and not self.declared.causal:
                yield Layout(4, dtype=dtype, cross=True)
                yield Layout(4, square=True, dtype=dtype, cross=True)
            yield Layout(4, square=True, same_width=True, dtype=dtype)
            if any(isinstance(part, (nn.Conv1d, nn.Conv2d)) for part in self.module.modules()):
                yield from (Layout(4, square=True, same_width=True, dtype=dtype, places=n) for n in (1, 2))

    def use(self, layout: Layout) -> None:
        if self.own and self.module is not None:
            self.module.to(layout.dtype)

    def draw(self, layout: Layout, size: int, generator: torch.Generator, **overrides: int) -> dict[str, Tensor]:
        H = self.num_heads or 1
        B = (2 if H != 2 else 3, 4 if H != 4 else 3, 1)[size]
        shapes = self.shapes()
        widths_of_heads = (shapes["query"][0] // H, shapes["value"][0] // max(H // self.grouped, 1))
        taken = (H, B, *widths_of_heads, *(shape[0] for shape in shapes.values()))  # else a cache may look like weights
        L, S = [n for n in (*_lengths(self.declared.seed)[size], 9, 13, 15, 6, 3) if n not in taken][:2]
        S = (6, 15, 35)[size] if layout.places == 2 else S  # a real height and a real width
        B, L, S = (overrides.get(axis, size) for axis, size in (("B", B), ("L", L), ("S", S)))
        widths = {role: shapes[role][1] for role in ("query", "key", "value")}
        if not layout.cross:
            return {"x": normal(B, S, widths["query"], generator=generator)}
        L = S if layout.square else L
        query = normal(B, L, widths["query"], generator=generator)
        if "key" not in self.binding.roles:
            return {"query": query, "context": normal(B, S, widths["key"], generator=generator)}
        key = normal(B, S, widths["key"], generator=generator)
        if "value" not in self.binding.roles:
            return {"query": query, "key": key}
        return {"query": query, "key": key, "value": normal(B, S, widths["value"], generator=generator)}

    def sizes(self, tensors: dict[str, Tensor], layout: Layout) -> Sizes:
        inputs, H, shapes = by_role(tensors), self.num_heads or 1, self.shapes()
        d_k = shapes["query"][0] // H
        d_v = shapes["value"][0] // max(H // self.grouped, 1)
        B, L, d_model = inputs["query"].shape
        return Sizes(B, H, L, inputs["key"].shape[1], d_k, d_v, d_model)

    def material(self, tensors: dict[str, Tensor], layout: Layout) -> Material:
        return self.material_with(tensors, layout, self.matrices())

    def material_with(self, tensors: dict[str, Tensor], layout: Layout, matrices: dict[str, Matrix]) -> HeadsMaterial:
        """The material with given matrices, and with the module's norms that are in use."""
        inputs = by_role(tensors)
        if self.pre_norm is not None:
            inputs = {role: self.normed(self.pre_norm, tensor) for role, tensor in inputs.items()}
        norms: dict[str, Callable[[Tensor], Tensor]] = {
            role: partial(self.normed, norm) for role, norm in self.qk_norms.items()
        }
        post_norm = None if self.post_norm is None else partial(self.normed, self.post_norm)
        return HeadsMaterial(inputs, self.sizes(tensors, layout), matrices, norms, post_norm=post_norm)

    def expected_shape(self, sizes: Sizes, layout: Layout) -> tuple[int, ...]:
        shapes = self.shapes()
        width = shapes["output"][0] if "output" in shapes else sizes.H * sizes.d_v
        if layout.places:
            return (sizes.B, width, sizes.L) if layout.places == 1 else (sizes.B, width, *as_image(sizes.L))
        return (sizes.B, sizes.L, width) if self.batch_first else (sizes.L, sizes.B, width)

    def outward(self, tensor: Tensor, layout: Layout) -> Tensor:
        if layout.places:
            moved = tensor.transpose(1, 2)  # (B, d, L)
            return moved if layout.places == 1 else moved.unflatten(-1, as_image(moved.shape[-1]))
        return tensor if self.batch_first else tensor.transpose(0, 1)

    def inward(self, tensor: Tensor, layout: Layout) -> Tensor:
        if layout.places:
            return tensor.flatten(2).transpose(1, 2)
        return tensor if self.batch_first else tensor.transpose(0, 1)

    def prepare(self, given: dict[str, Any]) -> dict[str, Any]:
        """Self-attention of a module that wants three inputs gets the same tensor three times."""
        if "x" not in given:
            return given
        x = given.pop("x")
        given = {"query": x} | given
        needed = [role for role in ("key", "value") if role in self.binding.roles]
        return given | {role: x for role in needed if role not in self.binding.defaults}

    @property
    def normed_after(self) -> bool:
        return self.post_norm is not None

    def more_menus(self) -> Iterator[Menu]:
        """Biases left out of several projections at once."""
        steps = ("pair", "value", "finish")
        without = {s: tuple(o for o in self.menu.steps[s][1:] if o.code == "missing-bias") for s in steps}
        right = self.menu.only(self.menu.right, "pattern", "scale")
        yield right.with_options(**{step: (self.menu.steps[step][0], *without[step]) for step in steps})

    def turn(self) -> bool:
        turned = self.projections.turned
        if turned is None or self.module is None:
            return False
        self.projections.roles, self.projections.turned = turned, None
        self.inner = self.shapes()["query"][0]
        self.num_heads = self.declared.num_heads or count_heads(self.module, self.projections, self.inner)
        self.num_heads, self.heads_unknown = self.num_heads or 1, self.num_heads is None
        self._set_menu(self.cross)
        return True

    def reread(self, cases: list[Case]) -> None:
        readings.reread(self, cases)

    def elsewhere(self, case: Case) -> Iterator[tuple[str, str, Case, int]]:
        return readings.elsewhere(self, case)

    def normed(self, norm: nn.Module, tensor: Tensor) -> Tensor:
        """A part of the module itself, run on a tensor of the doctor's."""
        own = next((p.dtype for p in norm.parameters()), torch.float64)
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            found = self.runner.call(norm, tensor.to(self.device, own), grad=torch.is_grad_enabled())
        if not isinstance(found, Tensor) or found.shape != tensor.shape:
            raise RuntimeError("this normalisation does not fit here")
        return plain(found)

    def properties(self) -> tuple[Callable[..., str], ...]:
        return HEADS_PROPERTIES

    def cuts(self, layout: Layout) -> list[Cut]:
        return [lambda tensors, mask: fewer(tensors, mask, 0), lambda tensors, mask: fewer(tensors, mask, 1)]

    def steep(self, layout: Layout, top: float, generator: torch.Generator, recipe: Recipe) -> dict[str, Tensor]:
        """Ordinary inputs, enlarged until the largest score is about ``top``."""
        tensors = self.draw(layout, 0, generator)
        case = Case(self.material(tensors, layout), None, torch.empty(0))
        largest = float(scores_of(recipe, case).abs().max())
        factor = (top / largest) ** 0.5 if largest > 0 else 1.0
        return {role: tensor * factor for role, tensor in tensors.items()}

    @contextmanager
    def in_dtype(self, dtype: torch.dtype) -> Iterator[None]:
        assert self.module is not None
        if not self.own:
            yield
            return
        parameters = [(parameter, parameter.data) for parameter in self.module.parameters()]
        buffers = [(p, name, b) for p in self.module.modules() for name, b in p.named_buffers(recurse=False)]
        self.module.to(dtype)
        try:
            yield
        finally:
            for parameter, data in parameters:
                parameter.data = data
            for part, name, buffer in buffers:
                setattr(part, name, buffer)

    def gradients(self, tensors: dict[str, Tensor], layout: Layout) -> tuple[dict[str, Tensor], str]:
        """Gradients by input role and parameter name, or why there are none."""
        assert self.module is not None
        used = {n: p for n, p in self.module.named_parameters() if n in self.projections.used}
        before = {name: parameter.requires_grad for name, parameter in used.items()}
        for parameter in used.values():
            parameter.requires_grad_(True)
        try:
            reply, given = self.run_for_gradients(tensors, layout)
            return self._backward(reply, given | used)
        finally:
            for name, parameter in used.items():
                parameter.requires_grad_(before[name])

    def _backward(self, reply: Reply, leaves: dict[str, Tensor]) -> tuple[dict[str, Tensor], str]:
        if reply.failure is not None:
            return {}, reply.failure.message
        if reply.output is None or not reply.output.requires_grad:
            return {}, "The output does not require a gradient although inputs and parameters do."
        return backward(self.runner, reply.output, leaves)

    def right_gradients(self, tensors: dict[str, Tensor], layout: Layout, recipe: Recipe) -> dict[str, Tensor]:
        leaves = {role: tensor.clone().requires_grad_() for role, tensor in tensors.items()}
        params = {
            n: plain(t).clone().requires_grad_(n in self.projections.used)
            for n, t in self._params().items()
            if t.is_floating_point()
        }
        with torch.enable_grad():
            material = self.material_with(leaves, layout, self.matrices(params))
            output, _ = evaluate(recipe, Case(material, None, torch.empty(0)))
            wanted = leaves | {name: params[name] for name in self.projections.used}
            total = (output * weighting(output)).sum()
            found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        return {name: grad for name, grad in zip(wanted, found, strict=True) if grad is not None}
