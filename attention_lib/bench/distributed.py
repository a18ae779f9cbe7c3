"""Attention in several processes, compared with one: ``python -m attention_lib.bench.distributed --processes 4``.

The same module runs under torchrun, on one machine or on many:
``torchrun --nproc-per-node 4 -m attention_lib.bench.distributed``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from attention_lib.attention import attention
from attention_lib.errors import OptionError
from attention_lib.layers.multi_head import MultiHeadAttention
from attention_lib.layers.tensor_parallel import parallelize_heads
from attention_lib.paths.ring import ring_attention

__all__ = ["heads_differences", "leave_process_group", "main", "ring_differences"]

HEADS, KEY_HEADS, WIDTH = 8, 4, 16
TOLERANCE = 1e-6  # relative, in float64


def ring_differences(length: int, *, causal: bool, device: torch.device) -> list[float]:
    """The ring's output and gradients of query, key and value against one process that holds everything.

    Returns:
        Four numbers, the largest over all processes: largest difference of an entry over the largest entry.
    """
    size, rank = dist.get_world_size(), dist.get_rank()
    shapes = ((1, HEADS, length, WIDTH), *2 * ((1, KEY_HEADS, length, WIDTH),), (1, HEADS, length, WIDTH))
    query, key, value, pull = (_same_everywhere(shape, device) for shape in shapes)
    whole = _with_gradients(lambda *qkv: attention(*qkv, causal=causal).output, (query, key, value), pull)
    query, key, value, pull = (tensor.chunk(size, dim=-2)[rank] for tensor in (query, key, value, pull))
    mine = _with_gradients(lambda *qkv: ring_attention(*qkv, causal=causal), (query, key, value), pull)
    own_rows = [tensor.chunk(size, dim=-2)[rank] for tensor in whole]
    return _worst(mine, own_rows, device)


def heads_differences(length: int, *, causal: bool, device: torch.device) -> list[float]:
    """A layer whose heads are shared out against the whole layer: output, and gradients of input and weights.

    Returns:
        Three numbers, as in :func:`ring_differences`; the third is of W_Q, W_K, W_V and W_O together.
    """
    layer = MultiHeadAttention(HEADS * WIDTH, HEADS, num_kv_heads=KEY_HEADS).to(device, torch.float64)
    shared = MultiHeadAttention(HEADS * WIDTH, HEADS, num_kv_heads=KEY_HEADS).to(device, torch.float64)
    for parameter in layer.parameters():
        parameter.data = _same_everywhere(tuple(parameter.shape), device) / 8
    shared.load_state_dict(layer.state_dict())
    parallelize_heads(shared)
    x, pull = (_same_everywhere((2, length, HEADS * WIDTH), device) for _ in range(2))

    def all_of(module: MultiHeadAttention) -> list[Tensor]:
        attended = _with_gradients(lambda x: module(x, causal=causal).output, (x,), pull)
        return [*attended, _weight_gradients(module)]

    return _worst(all_of(shared), all_of(layer), device)


def _same_everywhere(shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Numbers that all processes agree on, whatever they drew."""
    tensor = torch.randn(shape, dtype=torch.float64).to(device)
    dist.broadcast(tensor, src=0)
    return tensor


def _with_gradients(function: Callable[..., Tensor], inputs: tuple[Tensor, ...], pull: Tensor) -> list[Tensor]:
    inputs = tuple(tensor.detach().clone().requires_grad_() for tensor in inputs)
    output = function(*inputs)
    output.backward(pull)
    return [output.detach(), *(tensor.grad for tensor in inputs if tensor.grad is not None)]


def _weight_gradients(layer: MultiHeadAttention) -> Tensor:
    gradients = [each.weight.grad for each in (layer.w_q, layer.w_k, layer.w_v, layer.w_o)]
    return torch.cat([getattr(grad, "full_tensor", lambda grad=grad: grad)().flatten() for grad in gradients])


def _worst(mine: list[Tensor], expected: list[Tensor], device: torch.device) -> list[float]:
    pairs = zip(mine, expected, strict=True)
    worst = torch.stack([(ours - theirs).abs().max() / theirs.abs().max() for ours, theirs in pairs]).to(device)
    dist.all_reduce(worst, op=dist.ReduceOp.MAX)
    return worst.tolist()


def report(length: int) -> bool:
    """Compare everything in the process group that is there; process 0 prints a line each.

    Returns:
        Whether all differences are below the tolerance.
    """
    device, size = _own_device(), dist.get_world_size()
    passed = []
    for name, compare in (("ring", ring_differences), ("heads", heads_differences)):
        for causal in (False, True):
            worst = compare(length, causal=causal, device=device)
            passed.append(max(worst) <= TOLERANCE)
            if dist.get_rank() == 0:
                share = (
                    f"{length // size} of {length} tokens" if name == "ring" else f"{HEADS // size} of {HEADS} heads"
                )
                title = f"{name}, causal" if causal else name
                print(f"{title:13s}: {size} processes with {share} each; equal to one: {passed[-1]}")
    return all(passed)


def _own_device() -> torch.device:
    if dist.get_backend() != "nccl":
        return torch.device("cpu")
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    return device


def leave_process_group() -> None:
    """Close the group, but not in torch before 2.5.

    There two gloo processes that close it at the same moment can wait for each other for ever, whatever they computed
    (2.4.1: 4 of 10 tries with nothing but a broadcast and a barrier before; none where the group is left open).
    """
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5):
        dist.destroy_process_group()


def _work(rank: int, size: int, length: int, meeting_point: str) -> None:
    """One local process. It talks to the others through the loopback interface alone."""
    if sys.platform.startswith("linux"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting_point}", rank=rank, world_size=size)
    try:
        equal = report(length)
    finally:
        leave_process_group()
    if not equal:
        raise SystemExit(1)


def _run_locally(size: int, length: int) -> int:
    import torch.multiprocessing as multiprocessing

    # Forked children need not import again what is imported here; safe, since nothing has run in this process yet.
    importlib.import_module("torch.distributed.tensor.parallel")
    method = "fork" if hasattr(os, "fork") and sys.platform != "darwin" else "spawn"
    with tempfile.TemporaryDirectory() as folder:
        arguments = (size, length, (Path(folder) / "meeting_point").as_posix())
        try:
            multiprocessing.start_processes(_work, arguments, nprocs=size, start_method=method)
        except multiprocessing.ProcessExitedException as error:
            return error.exit_code
    return 0


def _run_under_torchrun(length: int) -> int:
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        return 0 if report(length) else 1
    finally:
        leave_process_group()


def main(arguments: list[str] | None = None) -> int:
    """The command; exit status 0 if everything is equal, 1 if not, 2 for a call that cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m attention_lib.bench.distributed", description=__doc__)
    parser.add_argument("--processes", type=int, default=2, help="processes to start here (torchrun brings its own)")
    parser.add_argument("--length", type=int, default=64, help="tokens of the whole sequence")
    options = parser.parse_args(arguments)
    under_torchrun = "TORCHELASTIC_RUN_ID" in os.environ or {"RANK", "WORLD_SIZE"} <= set(os.environ)
    size = int(os.environ["WORLD_SIZE"]) if under_torchrun else options.processes
    try:
        _check(size, options.length)
    except OptionError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return _run_under_torchrun(options.length) if under_torchrun else _run_locally(size, options.length)


def _check(size: int, length: int) -> None:
    if not (dist.is_available() and dist.is_gloo_available()):
        raise OptionError("this build of torch has no torch.distributed with gloo; install one from pytorch.org")
    if size < 1 or KEY_HEADS % size:
        raise OptionError(f"{KEY_HEADS} key heads cannot be shared out among {size} processes; choose 1, 2 or 4")
    if length < 1 or length % size:
        raise OptionError(
            f"{length} tokens cannot be cut into {size} equal slices; choose --length {max(1, length // size) * size}"
        )


if __name__ == "__main__":
    sys.exit(main())
