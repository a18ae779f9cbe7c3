"""`read_aloud`: a sentence read step by step by a recurrent network, and at once by attention."""

from collections.abc import Sequence

from attention_lib.plot.path_diagram import path_lengths
from attention_lib.viz.figure import Figure
from attention_lib.viz.inputs import texts, whole, words


def read_aloud(
    tokens: Sequence[str], *, remember: int = 0, question: str | None = None, observe: str | None = None
) -> Figure:
    """Step through a sentence by hand, and count what must wait for what.

    A recurrent network needs n dependent steps for n tokens; attention needs 3 products, whatever n is.

    Args:
        tokens: n texts, 2 to 64.
        remember: the token whose way to the last one is measured, at first.
        question: what the reader is to find out.
        observe: what the reader should then have seen.

    Returns:
        The figure.

    Raises:
        OptionError: too few or too many tokens, or no such token.

    Example:
        >>> read_aloud(["to", "be", "or", "not"])
        Figure: Reading 4 words: a recurrent network takes 4 dependent steps, attention 3 for all words together.
    """
    tokens = words(tokens, "tokens", least=2, most=64)
    n = len(tokens)
    remember = whole(remember, "remember", 0, n - 2)
    alt = f"Reading {n} words: a recurrent network takes {n} dependent steps, attention 3 for all words together."
    table = [["from", "to the last word, recurrent", "attention"]]
    table += [[token, str(n - 1 - i), "1"] for i, token in enumerate(tokens[:-1])]
    data = {"tokens": tokens, "from": remember} | texts(question, observe)
    return Figure("rnn-vs-attention", data, table, path_lengths(n, alt=alt))
