"""Whole models, small enough to train in a chapter; one is big enough to be real (``minilm``)."""
