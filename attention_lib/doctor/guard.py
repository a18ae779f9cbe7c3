"""Runs other people's code: under a time limit, in silence, with the global state put back afterwards."""

from __future__ import annotations

import ctypes
import io
import queue
import random
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["Failure", "Runner", "counted_numbers", "quiet", "state_kept"]

_OWN_FOLDER = str(Path(__file__).parent)


@dataclass(frozen=True)
class Failure:
    """Why a call gave no value: ``reason`` is raised, time, or exit; ``trace`` is the candidate's own traceback."""

    reason: str
    message: str
    trace: str = ""


class _OutOfTime(BaseException):
    """Thrown into the candidate's thread when its time is over."""


class Runner:
    """Calls functions one after the other in a worker thread, each under the same time limit.

    A thread can be told to stop on every system and in every notebook (an exception is thrown into it), and one
    that refuses, or that waits inside C code, is left behind: the doctor itself never hangs. Grad mode belongs to
    a thread, so the candidate cannot change the caller's.

    Args:
        limit: Seconds a call may take.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.calls = 0
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._answers: queue.SimpleQueue = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(self, function: Callable, *args: Any, grad: bool = False, seed: int = 0, **kwargs: Any) -> Any:
        """The function's value, or a ``Failure``; the random generators start from ``seed``."""
        if self._thread is None:
            self._start()
        self.calls += 1
        self._jobs.put((function, args, kwargs, grad, seed))
        try:
            return self._answers.get(timeout=self.limit)
        except queue.Empty:
            return self._stop_worker()
        except BaseException:  # the caller's own interrupt: do not leave the candidate running
            self._stop_worker()
            raise

    def close(self) -> None:
        """End the worker thread, and wait for it: a thread that ends while the process does may bring it down."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(1.0)
            self._thread = None

    def _start(self) -> None:
        self._jobs, self._answers = queue.SimpleQueue(), queue.SimpleQueue()
        self._thread = threading.Thread(
            target=_work, args=(self._jobs, self._answers), name="attention-doctor", daemon=True
        )
        self._thread.start()

    def _stop_worker(self) -> Failure:
        """Throw an exception into the worker, again and again for at most two seconds; then leave it behind."""
        thread, self._thread = self._thread, None
        self._jobs.put(None)
        for _ in range(40):
            if thread is None or not thread.is_alive():
                break
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_OutOfTime))
            thread.join(0.05)
        return Failure("time", f"no answer within {self.limit:g} s")


def _work(jobs: queue.SimpleQueue, answers: queue.SimpleQueue) -> None:
    try:
        while (job := jobs.get()) is not None:
            function, args, kwargs, grad, seed = job
            answers.put(_attempt(function, args, kwargs, grad, seed))
    except _OutOfTime:
        return


def _attempt(function: Callable, args: tuple, kwargs: dict, grad: bool, seed: int) -> Any:
    _seed_all(seed)
    torch.set_grad_enabled(grad)
    try:
        return function(*args, **kwargs)
    except _OutOfTime:
        return Failure("time", "no answer within the limit")
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        return Failure("exit", f"{type(error).__name__}: {error}".rstrip(": "), _own_trace(error))
    except RecursionError as error:
        return Failure("raised", f"RecursionError: {error}", "the function calls itself without end")
    except BaseException as error:
        return Failure("raised", f"{type(error).__name__}: {_first_line(error)}", _own_trace(error))


def _first_line(error: BaseException) -> str:
    """The first line of a message; of TorchScript's, whose cause comes after a traceback of its own, the last."""
    try:
        lines = str(error).strip().splitlines() or [""]
        return lines[-1 if "TorchScript interpreter" in lines[0] else 0]
    except Exception:
        return "(its message cannot be printed)"


def _own_trace(error: BaseException) -> str:
    """The traceback from the candidate's first line on, without the doctor's frames."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not _is_ours(frame.filename)]
    return "".join(traceback.format_list(frames)).rstrip()


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OWN_FOLDER)


def _seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


@contextmanager
def counted_numbers() -> Iterator[list[int]]:
    """Count how often tensors are turned into Python numbers."""
    count = [0]
    names = ("item", "tolist", "__float__")
    before = {name: torch.Tensor.__dict__.get(name) for name in names}

    def counting(method: Callable) -> Callable:
        def call(self: torch.Tensor, *args: Any) -> Any:
            count[0] += 1
            return method(self, *args)

        return call

    for name in names:
        setattr(torch.Tensor, name, counting(getattr(torch.Tensor, name)))
    try:
        yield count
    finally:
        for name, method in before.items():
            if method is None:
                delattr(torch.Tensor, name)
            else:
                setattr(torch.Tensor, name, method)


class _Nowhere(io.TextIOBase):
    """What a candidate prints goes here."""

    def write(self, text: str) -> int:
        return len(text)


@contextmanager
def quiet() -> Iterator[None]:
    """Swallow prints and warnings."""
    before = sys.stdout, sys.stderr
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.stdout = sys.stderr = _Nowhere()
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


@contextmanager
def state_kept() -> Iterator[None]:
    """Put back the random generators, the default dtype, grad mode, thread count and determinism switches."""
    before = _state()
    try:
        yield
    finally:
        _restore(before)


def _state() -> dict[str, Any]:
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(),
        "torch": torch.default_generator.get_state(),
        "cuda": torch.cuda.get_rng_state_all() if cuda else None,
        "dtype": torch.get_default_dtype(),
        "grad": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
    }


def _restore(before: dict[str, Any]) -> None:
    random.setstate(before["python"])
    np.random.set_state(before["numpy"])
    torch.default_generator.set_state(before["torch"])
    if before["cuda"] is not None:
        torch.cuda.set_rng_state_all(before["cuda"])
    torch.set_default_dtype(before["dtype"])
    torch.set_grad_enabled(before["grad"])
    if torch.get_num_threads() != before["threads"]:
        torch.set_num_threads(before["threads"])
    if torch.are_deterministic_algorithms_enabled() != before["deterministic"]:
        torch.use_deterministic_algorithms(before["deterministic"])
    if torch.is_anomaly_enabled() != before["anomaly"]:
        torch.autograd.set_detect_anomaly(before["anomaly"])
