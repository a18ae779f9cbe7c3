"""The book's static figures: plain numbers, lists, arrays or tensors in, never models; a `Picture` out."""

from attention_lib.plot.bar_chart import bars
from attention_lib.plot.flow_diagram import Box, flow, projections
from attention_lib.plot.heat_chart import heatmap, heatmaps
from attention_lib.plot.histogram_chart import histograms
from attention_lib.plot.line_chart import lines
from attention_lib.plot.path_diagram import path_lengths
from attention_lib.plot.picture import Picture
from attention_lib.plot.vector_chart import vectors

__all__ = [
    "Box",
    "Picture",
    "bars",
    "flow",
    "heatmap",
    "heatmaps",
    "histograms",
    "lines",
    "path_lengths",
    "projections",
    "vectors",
]
