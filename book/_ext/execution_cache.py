"""Point myst-nb at the execution cache that ``book/tools/execute.py`` fills.

The cache's folder changes with the library (see ``bookkit.execution``). Because myst-nb registers its path
as a setting of the environment, a changed library also makes Sphinx read every page again.
"""

from pathlib import Path

from bookkit.execution import cache_path, set_environment


def _use_cache(app, config) -> None:
    root = Path(app.srcdir)
    set_environment(root)
    config.nb_execution_mode = "cache"
    config.nb_execution_cache_path = str(cache_path(root))


def setup(app) -> dict:
    """Register the extension."""
    app.connect("config-inited", _use_cache)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
