"""The recorded small model on letters, and its figure: for the tests of ``viz`` and for those in the browser."""

import functools

import torch

from attention_lib import viz
from attention_lib.experiments import load_result

LETTERS = "ABCDEFGHIJKLMNOP"
TEXT = "DABCEDABC"


@functools.lru_cache(1)
def model():
    """The recorded small model."""
    return load_result("tiny_induction").result.model()


def ids(text: str) -> torch.Tensor:
    """(1, n) symbols of a text."""
    return torch.tensor([[LETTERS.index(letter) for letter in text]])


def tiny_figure(question: str, observe: str) -> viz.Figure:
    """The recorded model on nine letters."""
    weights = torch.cat([w[:, 0] for w in model()(ids(TEXT), need_weights=True).weights])
    return viz.run_tiny(model().state_dict(), TEXT, weights=weights, row=8, question=question, observe=observe)
