"""The oracle: attention in plain Python numbers and loops, importing nothing but ``math``.

It is slow and it is meant to be read. Every fast path of the library is tested against it.
"""

import math

__all__ = ["attention", "scores", "softmax"]


def scores(query, key, scale=None):
    """Scaled dot products, one number at a time.

    ``scores[i][j] = scale * sum over c of query[i][c] * key[j][c]``

    Args:
        query: L rows of d_k numbers.
        key: S rows of d_k numbers.
        scale: A number; None is ``1 / sqrt(d_k)``.

    Returns:
        L rows of S numbers.

    Example:
        >>> scores([[1.0, 2.0, 0.0, 0.0]], [[3.0, 4.0, 0.0, 0.0]])  # (3 + 8) / sqrt(4)
        [[5.5]]
    """
    factor = 1.0 / math.sqrt(len(key[0])) if scale is None and key else scale
    return [[factor * sum(q * k for q, k in zip(q_row, k_row, strict=True)) for k_row in key] for q_row in query]


def softmax(row):
    """Softmax of one row; ``-inf`` entries get weight 0, and a row of nothing else gets all zeros.

    ``weights[j] = exp(row[j] - top) / sum over m of exp(row[m] - top)``, ``top`` being the largest entry

    Example:
        >>> softmax([0.0, math.log(3.0)])
        [0.25, 0.75]
        >>> softmax([-math.inf, -math.inf])
        [0.0, 0.0]
    """
    top = max(row, default=-math.inf)
    if top == -math.inf:
        return [0.0 for _ in row]
    raised = [math.exp(entry - top) for entry in row]
    total = math.fsum(raised)
    return [entry / total for entry in raised]


def attention(query, key, value, mask=None, *, causal=False, window=None, scale=None):
    """Attention of one sequence, one head: ``softmax(scale * Q K^T + mask) V``.

    Args:
        query: L rows of d_k numbers.
        key: S rows of d_k numbers.
        value: S rows of d_v numbers.
        mask: L rows of S entries: booleans (True = may attend) or numbers (added to the scores).
        causal: Query i, at position ``S - L + i``, sees no later position.
        window: Query i sees exactly this many positions: its own and those before it when causal, otherwise
            ``window // 2`` before and ``(window - 1) // 2`` after it (fewer at the ends of the sequence).
        scale: A number; None is ``1 / sqrt(d_k)``.

    Returns:
        A pair ``(output, weights)``: L rows of d_v numbers, L rows of S numbers.

    Source:
        Vaswani et al. (2017), Attention Is All You Need, equation 1.

    Example:
        >>> output, weights = attention([[1.0]], [[0.0], [math.log(3.0)]], [[4.0], [8.0]])
        >>> weights, output
        ([[0.25, 0.75]], [[7.0]])
    """
    offset = len(key) - len(query)
    weights = []
    for i, row in enumerate(scores(query, key, scale)):
        for j in range(len(row)):
            distance = offset + i - j  # how far key j lies behind query i
            if mask is not None:
                row[j] = _masked(row[j], mask[i][j])
            if (causal and distance < 0) or not _in_window(distance, window, causal):
                row[j] = -math.inf
        weights.append(softmax(row))
    width = len(value[0]) if value else 0
    output = [[math.fsum(w * v[c] for w, v in zip(row, value, strict=True)) for c in range(width)] for row in weights]
    return output, weights


def _masked(score, entry):
    if isinstance(entry, bool):
        return score if entry else -math.inf
    return score + entry


def _in_window(distance, window, causal):
    if window is None:
        return True
    if causal:
        return 0 <= distance < window
    return -((window - 1) // 2) <= distance <= window // 2
