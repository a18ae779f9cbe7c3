"""The executor that was asked for: none, or Dask's own."""

from __future__ import annotations

import importlib
from concurrent.futures import Executor
from typing import Any

from attention_lib.errors import OptionError

__all__ = ["DaskPool"]

_HERE = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}  # nothing that another machine can reach


class DaskPool:
    """Dask's executor, on a cluster or on this machine alone; None where none was asked for.

    Args:
        address: The scheduler's address; "local" starts a cluster on this machine.
        workers: How many processes that has.
    """

    def __init__(self, address: str | None, workers: int) -> None:
        self.address, self.workers = address, workers
        self._open: list[Any] = []

    def __enter__(self) -> Executor | None:
        if self.address is None:
            return None
        try:
            distributed: Any = importlib.import_module("distributed")
        except ImportError:
            raise OptionError("--dask needs the package distributed: pip install distributed") from None
        if self.address == "local":
            self._open.append(distributed.LocalCluster(self.workers, threads_per_worker=1, **_HERE))
            client = distributed.Client(self._open[0])
        else:
            client = distributed.Client(self.address, timeout="20s")
        self._open.append(client)
        return client.get_executor()

    def __exit__(self, *_: object) -> None:
        for one in reversed(self._open):
            one.close()
