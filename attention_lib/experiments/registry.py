"""The experiments by name. Each is a module of that name with ``run`` and ``RESULT``."""

from __future__ import annotations

import importlib
from types import ModuleType

from attention_lib.errors import OptionError
from attention_lib.experiments.record import Record, find_recorded, read_record

__all__ = ["NAMES", "find_experiment", "load_result"]

NAMES = (
    "dependent_steps",
    "first_token_recall",
    "gradient_reach",
    "head_bugs",
    "head_convergence",
    "induction_layers",
    "length_growth",
    "mobilevit_training",
    "numeral_parts",
    "overfitting",
    "scaling_training",
    "score_statistics",
    "sequence_reversal",
    "step_cost",
    "thread_speedup",
    "tiny_induction",
    "training_checks",
    "two_relation_heads",
    "warmup_training",
    "window_reach",
)


def find_experiment(name: str) -> ModuleType:
    """The module of an experiment; it has ``run(budget, seeds=None, progress=False)`` and ``RESULT``.

    Raises:
        OptionError: No such experiment; the message names the known ones.

    Example:
        >>> find_experiment("gradient_reach").__name__
        'attention_lib.experiments.gradient_reach'
    """
    if name not in NAMES:
        raise OptionError(f"experiment {name!r} is not known; choose one of: {', '.join(NAMES)}")
    return importlib.import_module(f"attention_lib.experiments.{name}")


def load_result(name: str) -> Record:
    """The recorded full run of an experiment, from the checkout or from the installed wheel.

    Args:
        name: Name of the experiment.

    Returns:
        A :class:`Record`; ``.result`` is of the class that the experiment's ``run`` returns.

    Raises:
        OptionError: No such experiment, or nothing recorded for it; the message says how to record it.
    """
    experiment = find_experiment(name)
    path = find_recorded(name)
    if path is None:
        raise OptionError(
            f"no recorded result for {name!r}; record it in a checkout with "
            f"`python -m attention_lib.experiments {name} --budget full`"
        )
    return read_record(path, experiment.RESULT)
