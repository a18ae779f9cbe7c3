"""The book's interactive figures: tokens and tensors in, never models; a `Figure` that moves when touched out.

Each is a small custom element without dependencies, with a table for readers without JavaScript and a picture for
print. The same line works on the site, in JupyterLab, in Colab and in VS Code.
"""

from attention_lib.viz.explorer import explore
from attention_lib.viz.figure import Figure
from attention_lib.viz.mask_painter import paint_masks
from attention_lib.viz.moving_query import move_query
from attention_lib.viz.reading import read_aloud
from attention_lib.viz.saturation import saturate
from attention_lib.viz.tiny import round_weights, run_tiny

__all__ = [
    "Figure",
    "explore",
    "move_query",
    "paint_masks",
    "read_aloud",
    "round_weights",
    "run_tiny",
    "saturate",
]
