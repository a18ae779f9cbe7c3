"""Run a function in several processes that form a gloo group, and bring back what each returned or raised.

The children are forked from a server that has torch imported, so that a test of four takes a second, not ten.
"""

import multiprocessing
import os
import pickle
import sys
import traceback
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver" if sys.platform.startswith("linux") else "spawn")
if sys.platform.startswith("linux"):
    CONTEXT.set_forkserver_preload(["torch", "torch.distributed.tensor.parallel", "attention_lib.layers"])


def run_in_processes(function, size, folder, *arguments, seconds=120):
    """``function(*arguments)`` in ``size`` processes.

    Returns:
        A list with one entry a process: what it returned, or the exception it raised.
    """
    children = [
        CONTEXT.Process(target=_child, args=(function, rank, size, str(folder), arguments)) for rank in range(size)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(seconds)
    stuck = [rank for rank, child in enumerate(children) if child.is_alive()]
    for child in children:
        child.kill()
    assert stuck == [], f"processes {stuck} of {size} still wait after {seconds} s"
    return [pickle.loads((Path(folder) / f"result_{rank}").read_bytes()) for rank in range(size)]


def _child(function, rank, size, folder, arguments):
    import torch
    import torch.distributed as dist

    from attention_lib.bench.distributed import leave_process_group

    if sys.platform.startswith("linux"):
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    meeting_point = dist.FileStore(str(Path(folder) / "meeting_point"), size)  # an address file:// differs by system
    dist.init_process_group("gloo", store=meeting_point, rank=rank, world_size=size)
    dist.barrier()  # one that is done at once must not leave while another is still connecting
    try:
        result = function(*arguments)
    except Exception as error:  # the test judges it
        traceback.print_exc()
        result = error
    (Path(folder) / f"result_{rank}").write_bytes(pickle.dumps(result))
    leave_process_group()
