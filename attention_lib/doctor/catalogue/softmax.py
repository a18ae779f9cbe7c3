"""Mistakes between scores and weights."""

TEXT = """
softmax-over-queries | 05_softmax | mistake
The softmax runs over the queries, not over the keys
    Each query's weights must sum to 1: `torch.softmax(scores, dim=-1)`.

softmax-wrong-axis | 05_softmax | mistake
The softmax runs over the wrong axis
    Each query's weights must sum to 1 over the keys: `torch.softmax(scores, dim=-1)`.

missing-softmax | 05_softmax | mistake
The scores are used as weights: no softmax
    `weights = torch.softmax(scores, dim=-1)` before the weighted sum.

double-softmax | 05_softmax | mistake
Softmax is applied twice
    Apply it once; the second flattens the weights.

unnormalised-weights | 05_softmax | mistake
The weights are not normalised: their rows do not sum to 1
    Divide each row by its sum, or use `torch.softmax(scores, dim=-1)`.

wrong-normalisation | 05_softmax | mistake
The weights are another function of the scores than their softmax
    `weights = torch.softmax(scores, dim=-1)`.

softmax-unstable | 05_softmax | mistake
The softmax overflows on large scores
    Subtract each row's maximum first: `scores - scores.amax(dim=-1, keepdim=True)`, or use `torch.softmax`.
"""
