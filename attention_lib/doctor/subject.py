"""A candidate made ready for examination: it is called with plain tensors and answers with plain tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_lib.doctor.calling import Binding, bind, is_additive
from attention_lib.doctor.guard import Runner
from attention_lib.doctor.inputs import Form, present
from attention_lib.doctor.modes import dropout_silenced, drops, training_kept
from attention_lib.doctor.pipeline import Case, Material, Menu, Recipe, Sizes
from attention_lib.doctor.replies import Reply, read

__all__ = ["Cut", "Declared", "Inputs", "Layout", "Subject"]


@dataclass(frozen=True)
class Declared:
    """What the caller of ``diagnose`` said about the candidate."""

    causal: bool = False
    mask: str = "allowed"
    window: int | None = None
    scale: float | None = None
    variants: tuple[str, ...] = ()
    projections: dict[str, Any] | None = None
    num_heads: int | None = None
    strict: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Layout:
    """One way of calling: rank of the tensors, which axes may differ, and the dtype.

    Attributes:
        rank: 2 for (L, d), 3 for (B, L, d), 4 for (B, H, L, d).
        square: Query and key have the same length.
        same_width: Values are as wide as keys.
        dtype: What the candidate computes in.
        cross: A module takes query, key and value apart.
        rough: It answers in half precision.
        places: For modules with the features before the places: 1 for (B, d, L), 2 for (B, d, height, width).
    """

    rank: int
    square: bool = False
    same_width: bool = False
    dtype: torch.dtype = torch.float64
    cross: bool = False
    rough: bool = False
    places: int = 0

    @property
    def tolerance(self) -> float:
        if self.rough:
            return 2e-2
        return 1e-5 if self.dtype == torch.float64 else 1e-4

    def __str__(self) -> str:
        return {2: "(L, d)", 3: "(B, L, d)", 4: "(B, H, L, d)"}[self.rank]


class Filler(NamedTuple):
    """The mask that a candidate gets which cannot do without one: it allows everything.

    Attributes:
        form: Its axes.
        number: As for ``present``.
        allowed: What every entry says. False is for a candidate that reads masks the other way round.
    """

    form: Form
    number: str
    allowed: bool


Inputs = tuple[dict[str, Tensor], Tensor | None]
Cut = Callable[[dict[str, Tensor], Tensor | None], Inputs | None]


@dataclass
class Subject:
    """A candidate, how to call it, and the recipes it is compared with."""

    function: Callable[..., Any]
    runner: Runner
    declared: Declared
    kind: str = "attention"
    binding: Binding = field(init=False)
    menu: Menu = field(default_factory=Menu)
    extended: Menu | None = None
    number: str = "bool"
    padding: str = "blocked"
    filler: Filler | None = None
    silent: bool = False
    elsewhere_found: bool = False
    misshapen: tuple[Layout, Reply] | None = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    notes: list[str] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    mutated: set[str] = field(default_factory=set)
    always_flagged: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.binding = bind(self.function, self.kind)

    # Overridden by the subjects of single kinds.

    def layouts(self) -> Iterator[Layout]:
        raise NotImplementedError

    def use(self, layout: Layout) -> None:
        """Make the candidate ready for a layout's dtype."""

    def draw(self, layout: Layout, size: int, generator: torch.Generator, **overrides: int) -> dict[str, Tensor]:
        raise NotImplementedError

    def material(self, tensors: dict[str, Tensor], layout: Layout) -> Material:
        raise NotImplementedError

    def sizes(self, tensors: dict[str, Tensor], layout: Layout) -> Sizes:
        raise NotImplementedError

    def outward(self, tensor: Tensor, layout: Layout) -> Tensor:
        """From the doctor's axes to the candidate's."""
        return tensor

    def inward(self, tensor: Tensor, layout: Layout) -> Tensor:
        """From the candidate's axes to the doctor's."""
        return tensor

    def expected_shape(self, sizes: Sizes, layout: Layout) -> tuple[int, ...]:
        raise NotImplementedError

    def prepare(self, given: dict[str, Any]) -> dict[str, Any]:
        """From the doctor's roles to the candidate's."""
        return given

    def reread(self, cases: list[Case]) -> None:
        """Look for another reading of the candidate under which it is right; a fused matrix has several."""

    def turn(self) -> bool:
        """Read what may be (in, out) or (out, in) the other way round, if there is such a thing."""
        return False

    def elsewhere(self, case: Case) -> Iterator[tuple[str, str, Case, int]]:
        """The same case seen differently: a code, its evidence, the case then, and how many edits to allow."""
        return iter(())

    def cuts(self, layout: Layout) -> list[Cut]:
        """Ways to make a failing input smaller."""
        return []

    def properties(self) -> tuple[Callable[..., str], ...]:
        """Checks of what must hold for every attention of this kind."""
        return ()

    def steep(self, layout: Layout, top: float, generator: torch.Generator, recipe: Recipe) -> dict[str, Tensor]:
        """Inputs whose largest scores are about ``top``."""
        raise NotImplementedError

    def gradients(self, tensors: dict[str, Tensor], layout: Layout) -> tuple[dict[str, Tensor], str]:
        """Gradients of a fixed weighted sum of the outputs, by name; or why there are none."""
        raise NotImplementedError

    def right_gradients(self, tensors: dict[str, Tensor], layout: Layout, recipe: Recipe) -> dict[str, Tensor]:
        """The same gradients of a recipe."""
        raise NotImplementedError

    def more_menus(self) -> Iterator[Menu]:
        """Small menus with rare options that are worth combining with each other."""
        return iter(())

    # The same for all kinds.

    def generator(self, step: int) -> torch.Generator:
        """Random numbers for one step of the examination."""
        return torch.Generator().manual_seed(self.declared.seed + step)

    @property
    def takes_mask(self) -> bool:
        return any(role in self.binding.roles for role in ("mask", "lengths", "padding")) or not self.binding.roles

    @property
    def needs_mask(self) -> bool:
        """Whether it has a parameter for a mask, or for lengths, that has no default."""
        return any(r in self.binding.roles and r not in self.binding.defaults for r in ("mask", "lengths", "padding"))

    @property
    def module(self) -> nn.Module | None:
        owner = getattr(self.function, "__self__", self.function)
        return owner if isinstance(owner, nn.Module) else None

    def run(
        self,
        tensors: dict[str, Tensor],
        layout: Layout,
        mask: Tensor | None = None,
        form: Form | None = None,
        *,
        seed: int = 0,
        train: bool = False,
        dtype: torch.dtype | None = None,
    ) -> Reply:
        """Call the candidate once."""
        sizes = self.sizes(tensors, layout)
        given = {role: self._outgoing(t, layout, dtype or layout.dtype) for role, t in tensors.items()}
        before = {role: tensor.detach().clone() for role, tensor in given.items()}
        handed = self.prepare(dict(given))
        if mask is not None and form is not None:
            self._add_mask(handed, mask, form, dtype or layout.dtype, self.number)
        self._add_filler(handed, sizes, dtype or layout.dtype)
        self._add_declared(handed)
        masks = {r: handed[r] for r in ("mask", "padding", "lengths") if isinstance(handed.get(r), Tensor)}
        before |= {role: tensor.clone() for role, tensor in masks.items()}
        args, kwargs = self.binding.arguments(handed, sizes)
        with training_kept(self.module, train), dropout_silenced(self.silent):
            value = self.runner.call(self.function, *args, seed=seed, **kwargs)
        reply = read(value, self.expected_shape(sizes, layout), (sizes.L, sizes.S))
        reply.mutated = tuple(r for r, t in (given | masks).items() if not _equal(before[r], t.detach()))
        self.mutated |= set(reply.mutated)
        if reply.output is not None:
            reply.output = self.inward(reply.output, layout)
        return reply

    def case(self, tensors: dict[str, Tensor], layout: Layout, reply: Reply, mask: Tensor | None = None) -> Case:
        """A reply as a case for the search, in float64 on the CPU."""
        assert reply.output is not None
        target = reply.output.detach().to("cpu", torch.float64)
        return Case(self.material(tensors, layout), mask, target, layout.tolerance, tensors)

    def run_for_gradients(self, tensors: dict[str, Tensor], layout: Layout) -> tuple[Reply, dict[str, Tensor]]:
        """Call with inputs that require gradients; the reply and those inputs, in the doctor's axes."""
        sizes = self.sizes(tensors, layout)
        with torch.enable_grad():
            leaves = {r: t.to(self.device, layout.dtype).clone().requires_grad_() for r, t in tensors.items()}
            handed = self.prepare({role: self.outward(leaf, layout) for role, leaf in leaves.items()})
            self._add_filler(handed, sizes, layout.dtype)
            self._add_declared(handed)
            args, kwargs = self.binding.arguments(handed, sizes)
            with training_kept(self.module, False), dropout_silenced(self.silent):
                value = self.runner.call(self.function, *args, grad=True, **kwargs)
            reply = read(value, self.expected_shape(sizes, layout), (sizes.L, sizes.S))
            if reply.output is not None:
                reply.output = self.inward(reply.output, layout)
        return reply, leaves

    @property
    def can_train(self) -> bool:
        """Whether there is a training mode: the candidate is a module."""
        return self.module is not None

    @property
    def normed_after(self) -> bool:
        """Whether a normalisation follows on the output."""
        return False

    @contextmanager
    def dropout(self, probability: float) -> Iterator[None]:
        """Set the dropout layers that are in use, p > 0, to another probability."""
        layers = [part for part in self.module.modules() if drops(part)] if self.module is not None else []
        before = [layer.p for layer in layers]
        for layer in layers:
            layer.p = probability  # type: ignore[assignment]
        try:
            yield
        finally:
            for layer, p in zip(layers, before, strict=True):
                layer.p = p

    @contextmanager
    def in_dtype(self, dtype: torch.dtype) -> Iterator[None]:
        """Hold the candidate's own parameters, if any, in another dtype."""
        yield

    def plain_case(self, tensors: dict[str, Tensor], layout: Layout) -> Case:
        """The case without an answer, for recipes alone."""
        return Case(self.material(tensors, layout), None, torch.empty(0), layout.tolerance, tensors)

    def _outgoing(self, tensor: Tensor, layout: Layout, dtype: torch.dtype) -> Tensor:
        return self.outward(tensor, layout).to(self.device, dtype).clone(memory_format=torch.contiguous_format)

    def _add_filler(self, handed: dict[str, Any], sizes: Sizes, dtype: torch.dtype) -> None:
        if self.filler is None or {"mask", "padding", "lengths"} & set(handed):
            return
        form, number, allowed = self.filler
        axes = (sizes.B, sizes.H if "H" in form.axes else 1, sizes.L if "L" in form.axes else 1, sizes.S)
        self._add_mask(handed, torch.full(axes, allowed), form, dtype, number)

    def _add_mask(self, handed: dict[str, Any], mask: Tensor, form: Form, dtype: torch.dtype, number: str) -> None:
        if form.lengths:
            handed["lengths"] = mask[:, 0, 0].sum(-1).to(self.device)
            return
        role, roles = self.mask_role(form), self.binding.roles
        convention = self.padding if role == "padding" else self.declared.mask
        if role == "mask" and is_additive(roles.get("mask", "")):
            convention = "additive"
        number = "-inf" if convention == "additive" and number in ("bool", "int", "float") else number
        handed[role] = present(mask, form, convention, dtype, number).to(self.device)

    def mask_role(self, form: Form) -> str:
        """The parameter that takes a form: ``mask``, ``padding``, ``lengths``, or "" when there is none."""
        roles = self.binding.roles
        if form.lengths:
            return "lengths" if "lengths" in roles else ""
        if form.axes == "B S" and "padding" in roles:
            return "padding"
        return "mask" if "mask" in roles or not roles else ""

    def _add_declared(self, handed: dict[str, Any]) -> None:
        roles = self.binding.roles
        if self.declared.causal and "causal" in roles:
            handed["causal"] = True
        if (
            self.declared.window is not None
            and "window" in roles
            and isinstance(self.binding.defaults.get("window", 0), int)
        ):
            handed["window"] = self.declared.window


def _equal(before: Tensor, after: Tensor) -> bool:
    return before.shape == after.shape and bool(torch.equal(before.nan_to_num(), after.nan_to_num()))
