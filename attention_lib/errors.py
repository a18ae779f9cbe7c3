"""The library's errors. All are ValueErrors; each message says what came, what was expected, and the way out."""

__all__ = ["AttentionError", "AttentionMemoryError", "MaskError", "OptionError", "ShapeError"]


class AttentionError(ValueError):
    """Base class: something in the call cannot be attended with."""


class ShapeError(AttentionError):
    """Tensors whose named axes, dtypes or devices do not fit together."""


class MaskError(AttentionError):
    """A mask whose dtype, rank or shape does not say which query may attend to which key."""


class OptionError(AttentionError):
    """An option outside its range, or options that contradict each other."""


class AttentionMemoryError(AttentionError, MemoryError):
    """Sizes whose table of scores does not fit into memory; ``except MemoryError`` catches it too."""
