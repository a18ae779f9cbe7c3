"""The one place that holds the library's version."""

__version__ = "0.1.0"
