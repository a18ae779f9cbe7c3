"""Which cached outputs are still true, and how a chapter's kernel is set up.

jupyter-cache knows a notebook by the code of its cells alone. With the library changed it would re-run
nothing, stay green and show old numbers. So the cache's *folder* carries a hash of everything else that can
change an output: the library, the stored results of long runs, and the versions below.
"""

import hashlib
import os
import platform
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

VERSIONS_THAT_MATTER = ("torch", "numpy", "matplotlib")
FOLDERS_THAT_MATTER = (("attention_lib", "**/*"), ("book/results", "**/*.json"))
SETTLED = "ATTENTION_EXECUTION_CACHE"
IGNORED_SUFFIXES = {".pyc", ".pyo"}

# One thread a kernel: chapters run side by side, and printed digits must not depend on the core count.
ENVIRONMENT = {
    "ATTENTION_FIGURES": "svg",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TQDM_DISABLE": "1",
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
}


def execution_key(root: Path) -> str:
    """A short hash of all that can change an output, save the cells themselves.

    Args:
        root: the book's root.

    Returns:
        12 hexadecimal digits.
    """
    digest = hashlib.sha256(platform.python_version().encode())
    for name in VERSIONS_THAT_MATTER:
        digest.update(f"{name}={_version(name)}".encode())
    for folder, pattern in FOLDERS_THAT_MATTER:
        for path in sorted((root / folder).glob(pattern)):
            if path.is_file() and path.suffix not in IGNORED_SUFFIXES:
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def cache_path(root: Path) -> Path:
    """The folder of the jupyter-cache that is valid now, or the one this build has settled on."""
    return Path(os.environ.get(SETTLED) or root / "_build" / "execution" / execution_key(root))


def claims_folder(cache: Path) -> Path:
    """Where the chapters in this cache have recorded their claims (``attention_lib.experiments.claim``)."""
    return cache / "claims"


def settle_cache(root: Path) -> None:
    """Keep one cache for this process and those it starts, even if the library is edited meanwhile."""
    os.environ[SETTLED] = str(cache_path(root))


def forget_old_caches(root: Path) -> None:
    """Delete the caches of earlier libraries and versions."""
    current = cache_path(root)
    if current.parent.is_dir():
        for folder in current.parent.iterdir():
            if folder.is_dir() and folder != current:
                shutil.rmtree(folder)


def set_environment(root: Path) -> None:
    """Prepare this process so that the kernels it starts inherit what a chapter needs.

    The checkout comes first on the path, so a chapter never runs against another installed copy.
    """
    os.environ.update(ENVIRONMENT)
    os.environ["ATTENTION_CLAIMS"] = str(claims_folder(cache_path(root)))
    os.environ["IPYTHONDIR"] = str(_plain_profile(root))
    paths = [str(root), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(path for path in paths if path))


def _plain_profile(root: Path) -> Path:
    """An IPython profile of the book's own: a reader's start-up files must not change what a chapter prints."""
    folder = root / "_build" / "ipython"
    config = folder / "profile_default" / "ipython_kernel_config.py"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("c = get_config()\nc.IPKernelApp.log_level = 'ERROR'\n", "utf-8")
    return folder
