"""Opening of devices: at their first use, never at import. A device that would compute wrong results is refused."""

from __future__ import annotations

import functools
import os
import re
from ctypes import byref, c_int
from typing import Any

from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import DEV

from tensor_envs._compiler.dialects import SUPPORTED, dialect
from tensor_envs._runtime.clang import compilers_in_environment, cpu_compiler, nvrtc_library
from tensor_envs._runtime.context import LOCK, is_capturing
from tensor_envs._runtime.cuda import driver
from tensor_envs._runtime.devices import DeviceName, compiling_in_process, is_cpu, opened, retry_without_cache

# Renderers without a dialect, for which `linear.py` converts the tape. X86Renderer is not among them: its kernels write
# wrong observations of 4x4x4 tic-tac-toe.
CONVERTED = {"CPULLVMRenderer", "PythonRenderer"}

# tinygrad's LLVM code stores to an array through a pointer to its element, as here. LLVM before version 17 refuses it.
LLVM_REGISTER = "define void @f() {\n  %a = alloca [1 x i32]\n  store i32 0, i32* %a\n  ret void\n}\n"


def open_device(device: Any) -> DeviceName:
    """Open devices and return their full names.

    Args:
        device: a name, a tuple of names (the batch axis is sharded) or None (tinygrad's default).

    Raises:
        TypeError: `device` is no name.
        ValueError: the device does not exist here, or would compute wrong results.
        RuntimeError: the CPU lacks a compiler.
    """
    if isinstance(device, (tuple, list)):
        if not device:
            raise ValueError("device must name at least one device, got an empty tuple")
        names = tuple(_open_one(name) for name in device)
        if len(set(names)) < len(names) or len({name.split(":")[0] for name in names}) > 1:
            raise ValueError(f"device must name different devices of one kind, got {', '.join(names)}")
        return names if len(names) > 1 else names[0]
    if device is None:
        _open_default()
        device = Device.DEFAULT
    return _open_one(device)


def _open_one(device: Any) -> str:
    if not isinstance(device, str):
        raise TypeError(
            f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r} of type {type(device).__name__}"
        )
    if not re.fullmatch(r"[A-Za-z]+(:\d+)?", device):
        raise ValueError(f"device must be a name such as 'CPU' or 'CUDA:1', got {device!r}")
    name = Device.canonicalize(device)
    # Look for a clang before tinygrad does, since this error says what to install.
    if is_cpu(name):
        cpu_compiler()
    # A missing driver, library or card becomes one error that names the device and the backend's own reason.
    try:
        renderer = opened(name).renderer
    except Exception as error:  # backends raise errors of many classes
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tinygrad.runtime.ops_"):
            reason = "tinygrad has 'CPU', 'CUDA' (NVIDIA), 'AMD', 'METAL' (Apple), 'CL' (OpenCL), 'WEBGPU' and others"
        raise ValueError(f"device {device!r} cannot be opened here: {reason}") from None
    if type(renderer).__name__ == "PTXRenderer":  # tinygrad's choice without NVRTC
        raise ValueError(
            f"device {device!r} needs NVRTC, NVIDIA's compiler of CUDA, when it is first opened: pip install "
            "'tensor_envs[cuda]', or name its library by the environment variable NVRTC_PATH, without PTX in DEV"
        )
    # The renderer must have a dialect, which prints a tape, or `linear.py` must be able to convert the tape for it.
    if dialect(renderer) is None and type(renderer).__name__ not in CONVERTED:
        raise ValueError(
            f"device {device!r} would be programmed by tinygrad's {type(renderer).__name__}; kernels are written in "
            f"{SUPPORTED}, or by {' and '.join(sorted(CONVERTED))}. The environment variable DEV chooses another, "
            "as in DEV=CPU, or DEV=CPU:LLVM with LLVM 17 or newer"
        )
    if type(renderer).__name__ == "CPULLVMRenderer" and not _compiles(renderer, LLVM_REGISTER):
        raise ValueError(
            f"device {device!r} would be programmed by an LLVM that is older than 17, whose language tinygrad does not "
            "write. Install LLVM 17 or newer and name its library by the environment variable LLVM_PATH, or use "
            "DEV=CPU, whose clang is installed with this package"
        )
    # Check a small sum. tinygrad's device NULL computes nothing on purpose, and in a capture no result can be read.
    if not is_cpu(name) and name.split(":")[0] != "NULL" and not is_capturing() and not _computes(name):
        raise ValueError(f"device {device!r} opens here, but what it computes is wrong: it may have no adapter")
    return name


@functools.cache
def _open_default() -> None:
    """Have tinygrad choose its default device, for which it opens one device after another.

    If the user has chosen none, an NVIDIA card is opened by the CUDA driver. tinygrad would prefer its own driver NV,
    whose memory cannot be shared with other libraries.
    """
    if not DEV.device and _has_cuda():
        DEV.value = "CUDA"
    with LOCK, compilers_in_environment():
        retry_without_cache(lambda: Device.DEFAULT)


def _has_cuda() -> bool:
    """Return whether CUDA's driver finds a card and there is an NVRTC to compile for it."""
    if not (os.environ.get("NVRTC_PATH") or nvrtc_library()):
        return False
    try:
        count = c_int()
        return driver().cuDeviceGetCount(byref(count)) == 0 and count.value > 0
    except OSError:  # there is no driver
        return False


@functools.cache
def _computes(device: str) -> bool:
    """Return whether kernels have an effect: without a driver, Dawn (WebGPU) offers an adapter that does nothing."""
    with compiling_in_process():
        return bool((Tensor([1, 2], dtype=dtypes.int32, device=device) + 1).tolist() == [2, 3])


def _compiles(renderer: Any, source: str) -> bool:
    try:
        renderer.compiler.compile(source)
    except Exception:  # compilers raise errors of many classes
        return False
    return True
