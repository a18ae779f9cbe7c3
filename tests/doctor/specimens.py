"""The doctor's corpus: implementations written for these tests, each labelled with what is wrong with it, or nothing.

Every specimen lives in ``wrong/`` or ``correct/``, in the style of some corner of the world: loops, einsum, modules,
additive masks. The mistakes are those of public issue trackers; the code is not.
"""

import importlib.util
import inspect
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import torch

HERE = Path(__file__).parent


@dataclass
class Specimen:
    """One implementation.

    Attributes:
        candidate: What is diagnosed: a function, or a class without required arguments.
        codes: The findings that name what is wrong; empty for a correct one.
        kind: As for ``diagnose``.
        options: Further options for ``diagnose``.
        repair: (wrong text, right text) in its source; the repaired source must be healthy.
    """

    candidate: object
    codes: tuple = ()
    kind: str = "attention"
    options: dict = field(default_factory=dict)
    repair: tuple = ()

    @property
    def name(self):
        return self.candidate.__name__

    @property
    def source(self):
        lines = textwrap.dedent(inspect.getsource(self.candidate)).splitlines()
        start = next(n for n, line in enumerate(lines) if line.startswith(("def ", "class ")))
        return "\n".join(lines[start:])

    @property
    def repaired(self):
        """The source with its mistakes put right."""
        text = self.source
        for old, new in zip(self.repair[::2], self.repair[1::2], strict=True):
            assert old in text, (self.name, old)
            text = text.replace(old, new)
        return text

    def fresh(self, candidate=None):
        """The candidate ready to run: classes are built, always with the same random weights."""
        candidate = self.candidate if candidate is None else candidate
        if not inspect.isclass(candidate):
            return candidate
        state = torch.get_rng_state()
        torch.manual_seed(1)
        built = candidate()
        torch.set_rng_state(state)
        return built


SPECIMENS = []


def wrong(*codes, kind="attention", repair=(), **options):
    """Mark an implementation as wrong, with the codes that a right diagnosis holds."""

    def mark(candidate):
        SPECIMENS.append(Specimen(candidate, codes, kind, options, repair))
        return candidate

    return mark


def correct(kind="attention", **options):
    """Mark an implementation as correct."""

    def mark(candidate):
        SPECIMENS.append(Specimen(candidate, (), kind, options))
        return candidate

    return mark


def load(folder):
    """All specimens of ``wrong`` or ``correct``."""
    SPECIMENS.clear()
    for path in sorted((HERE / folder).glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"specimens_{folder}_{path.stem}", path)
        sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[spec.name])
    return list(SPECIMENS)
