"""The process in the sandbox: imports torch once, then forks one sealed child for each submission.

The parent never reads what a student wrote: it only passes a socket on to the child it forks. The child extracts the
definitions, runs them, and answers calls with raw values until the socket closes.
"""

from __future__ import annotations

import ast
import contextlib
import os
import select
import signal
import socket
import sys
import time
import types
from collections.abc import Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from attention_lib.coursework import account, seal
from attention_lib.coursework.extract import bound_names, needed_statements, statements_of
from attention_lib.coursework.wire import WireError, receive, send
from attention_lib.coursework.withheld import TORCH_ATTENTION, TORCH_GRADIENTS, find, withhold

__all__ = ["main", "serve"]

_clone, _equal = Tensor.clone, torch.equal  # before a submission can put something else in their place


def main(control: int, mode: str, hidden: Sequence[str] = ()) -> None:
    """Serve jobs from the control socket until it closes.

    Args:
        control: Number of the inherited control socket.
        mode: ``bubblewrap``, ``account`` (a root that becomes nobody) or ``none``.
        hidden: With ``account``: folders that a submission must not be able to enter.
    """
    torch.set_num_threads(1)
    _warm_up()
    seal.hide_memory()
    if mode == "account" and (why := account.trouble(hidden)):
        sys.exit(why)
    channel = socket.socket(fileno=control)
    nested = mode == "bubblewrap" and _can_nest()
    filtered = _in_a_child(seal.forbid_calls)
    channel.sendall(bytes([ord("R"), nested, filtered]))
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
        if not message:
            return
        if message == b"J" and descriptors:
            _one_job(channel, descriptors[0], mode, nested)


def _warm_up() -> None:
    """What torch sets up at its first use is set up before the forks."""
    numbers = torch.randn(3, 3, requires_grad=True)
    scores = torch.softmax(numbers @ numbers, dim=-1)
    torch.autograd.grad(scores, [numbers], torch.ones_like(scores), allow_unused=True)
    find((*TORCH_ATTENTION, *TORCH_GRADIENTS))


def _can_nest() -> bool:
    return _in_a_child(lambda: seal.unshare() and _in_a_child(seal.private_rooms))


def _in_a_child(attempt: Any) -> bool:
    child = os.fork()
    if child == 0:
        held = False
        try:
            held = bool(attempt())
        finally:
            os._exit(0 if held else 1)
    return os.waitpid(child, 0)[1] == 0


def _one_job(channel: socket.socket, job: int, mode: str, nested: bool) -> None:
    """Fork, wait for the end or for the order to end it, and report how it ended."""
    told, tell = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(told)
        _keep(channel, job, tell, mode, nested)
    os.close(job)
    os.close(tell)
    inner = int.from_bytes(os.read(told, 8), "little")
    watch = os.pidfd_open(keeper)
    both: list[Any] = [watch, channel]
    ready, _, _ = select.select(both, [], [])
    if watch not in ready:  # "K", or the grader has gone
        for process in {inner, keeper} - {0}:
            _end(process)
    _, status = os.waitpid(keeper, 0)
    os.close(watch)
    os.close(told)
    code = os.waitstatus_to_exitcode(status)
    channel.sendall(bytes([ord("D"), code % 256 if code >= 0 else 128 - code]))


def _end(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _keep(channel: socket.socket, job: int, tell: int, mode: str, nested: bool) -> NoReturn:
    """In the fork: open the namespaces, start the child in them, and end as it ends."""
    try:
        channel.close()
        seal.die_with_parent()
        if nested and not seal.unshare():
            os._exit(97)
        child = os.fork()
        if child == 0:
            os.close(tell)
            _child(job, mode, nested)
        os.close(job)
        os.write(tell, child.to_bytes(8, "little"))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(code if code >= 0 else 128 - code)
    finally:
        os._exit(98)


def _child(job: int, mode: str, nested: bool) -> NoReturn:
    try:
        seal.die_with_parent()
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        job = os.dup2(job, 3)
        os.closerange(4, 1024)
        sealed = not nested or seal.private_rooms()
        os.chdir("/tmp")
        if sealed and mode == "account":
            account.become()
            seal.die_with_parent()  # who changes accounts is forgotten by the kernel
        if sealed:
            serve(socket.socket(fileno=job))
    finally:
        os._exit(96)


def serve(channel: socket.socket) -> None:
    """Receive one job, then answer calls until the grader closes the socket."""
    job, _ = receive(channel)
    seal.limit(job["cpu_seconds"], job["megabytes"])
    seal.forbid_calls()
    withhold(job["withheld"])
    torch.manual_seed(job["seed"])
    send(channel, {"ready": True})  # nothing of the student's has run yet: who fails before is not the student
    module, told = _run_definitions(job["cells"], job["names"])
    send(channel, told)
    while True:
        try:
            order, arguments = receive(channel)
        except EOFError:
            os._exit(0)
        _answer(channel, module, order, arguments)


def _run_definitions(cells: list[str], names: list[str]) -> tuple[types.ModuleType, dict[str, Any]]:
    statements, troubles = statements_of(cells)
    module = types.ModuleType("submission")
    vars(module)["torch"] = torch  # the notebook's set-up cell, which a student may have deleted
    sys.modules["submission"] = module
    failed: dict[str, str] = {}
    for statement in needed_statements(statements, names):
        try:
            exec(compile(ast.Module([statement], []), "<submission>", "exec"), vars(module))
        except BaseException as error:  # whatever the definitions do, the others get their chance
            failed.update(dict.fromkeys(bound_names(statement), _said(error)))
    status = {name: _status(module, name, failed) for name in names}
    helpers = [f"{name}: {text}" for name, text in failed.items() if name not in names]
    return module, {"status": status, "troubles": [text[:300] for text in (troubles + helpers)[:8]]}


def _status(module: types.ModuleType, name: str, failed: dict[str, str]) -> str:
    if name in failed:
        return failed[name]
    if not hasattr(module, name):
        return "not defined"
    return "defined" if callable(getattr(module, name)) or isinstance(getattr(module, name), str) else "not a function"


def _said(error: BaseException) -> str:
    """Type and message, cut to a line; a message that itself fails is left out."""
    try:
        text = str(error).strip().split("\n")[0]
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}"[:300]


def _answer(channel: socket.socket, module: types.ModuleType, order: dict[str, Any], arguments: list[Any]) -> None:
    start = time.process_time()
    try:
        before = [_clone(one) if isinstance(one, Tensor) else None for one in arguments]
        value = _called(getattr(module, order["call"]), arguments, order)
        changed = _changed(arguments, before)
        note: dict[str, Any] = {"ok": True, "seconds": time.process_time() - start, "changed": changed}
        send(channel, note, value)
    except (WireError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        send(channel, {"ok": False, "error": _said(error)})
    except BaseException as error:
        send(channel, {"ok": False, "error": _said(error)})


def _changed(arguments: list[Any], before: list[Tensor | None]) -> int:
    """The place of the first argument that the call changed, counted from 1; 0 where it left all as they were."""
    for place, (now, then) in enumerate(zip(arguments, before, strict=True), start=1):
        if then is not None and not _equal(now.detach(), then):
            return place
    return 0


def _called(function: Any, arguments: list[Any], order: dict[str, Any]) -> Any:
    """The result, or with ``gradient`` the gradients of (result * last argument) for the arguments of those places."""
    places = order.get("gradient")
    if places is None:
        with torch.no_grad():
            return function(*arguments, **order.get("options", {}))
    *arguments, arriving = arguments
    for place in places:
        arguments[place].requires_grad_()
    result = function(*arguments, **order.get("options", {}))
    result = result[0] if isinstance(result, (tuple, list)) else result
    if not isinstance(result, Tensor):
        raise TypeError(f"a {type(result).__name__} came back, not a tensor")
    grads = torch.autograd.grad(result, [arguments[place] for place in places], arriving, allow_unused=True)
    return list(grads)
