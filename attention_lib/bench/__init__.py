"""Speed, memory and error beside what you would use otherwise: ``python -m attention_lib.bench``.

Every row times all its variants in turn, in one process; see ``book/benchmarks.md`` for how and why.
"""
