"""The checks that all toy tasks share."""

from __future__ import annotations

from attention_lib.arguments import check_generator, check_number, check_whole

__all__ = ["check_generator", "check_number", "check_whole"]
