"""On what a run took place, and how busy that was: no name, no path, nothing that tells whose machine it is."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch

__all__ = ["describe", "load"]


def describe(device: torch.device) -> dict[str, object]:
    """Processor, cores, instruction set, what idle threads do, and device."""
    facts: dict[str, object] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "native bfloat16": native_bfloat16(),
        "system": platform.system(),
        "idle threads": os.environ.get("OMP_WAIT_POLICY", "default"),
        "device": str(device),
    }
    if device.type == "cuda":
        facts["gpu"] = torch.cuda.get_device_name(device)
    return facts


def native_bfloat16() -> bool | None:
    """Whether the processor multiplies bfloat16 itself; None where torch cannot tell."""
    ask = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return bool(ask()) if ask else None


def load() -> float | None:
    """Programs that wanted a processor, mean of the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        if names:
            return names[0]
    return platform.processor() or platform.machine()
