"""Accept the one setting that Jupyter Book always passes on to an extension this book does not load.

Jupyter Book hands ``comments_config`` to sphinx_comments. Without that extension Sphinx warns about an
unknown setting, and here a warning is an error.
"""


def setup(app) -> dict:
    """Register the extension."""
    app.add_config_value("comments_config", {}, "html")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
