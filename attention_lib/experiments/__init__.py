"""One measured claim a file, each with a ``smoke`` budget (seconds) and a ``full`` one (minutes, recorded).

``gradient_reach.run("smoke")`` measures now; ``load_result("gradient_reach")`` reads what the full run gave.
"""

from attention_lib.experiments.claims import claim
from attention_lib.experiments.registry import load_result

__all__ = ["claim", "load_result"]
