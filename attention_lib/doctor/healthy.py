"""A check for other people's test suites."""

from __future__ import annotations

from typing import Any

from attention_lib.doctor.diagnose import diagnose
from attention_lib.doctor.findings import Diagnosis

__all__ = ["assert_healthy"]


def assert_healthy(candidate: Any, kind: str = "attention", **options: Any) -> Diagnosis:
    """Fail with the whole diagnosis unless the candidate is healthy.

    Args:
        candidate: As for ``diagnose``.
        kind: As for ``diagnose``.
        options: As for ``diagnose``.

    Returns:
        The diagnosis.

    Raises:
        AssertionError: The candidate has a finding or could not be examined; the message is the diagnosis.

    Example:
        >>> from torch.nn.functional import scaled_dot_product_attention
        >>> assert_healthy(scaled_dot_product_attention).ok
        True
    """
    __tracebackhide__ = True
    diagnosis = diagnose(candidate, kind, **options)
    if not diagnosis:
        raise AssertionError(str(diagnosis))
    return diagnosis
