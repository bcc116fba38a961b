"""Devices are opened when first used, never at import, and refused where kernels would not play right."""

from __future__ import annotations

import functools
import os
import re
from ctypes import byref, c_int
from typing import Any

from tinygrad import Device, Tensor, dtypes
from tinygrad.helpers import DEV

from tensor_envs._compiler.dialects import SUPPORTED, dialect
from tensor_envs._runtime.clang import cpu_compiler, named_to_tinygrad, nvrtc_library
from tensor_envs._runtime.context import LOCK, is_capturing
from tensor_envs._runtime.cuda import driver
from tensor_envs._runtime.devices import DeviceName, compiling_in_process, is_cpu, opened, uncached_on_failure

# Renderers without a dialect whose kernels play right. X86Renderer's do not: observations of 4x4x4 are wrong.
CONVERTED = {"CPULLVMRenderer", "PythonRenderer"}

# a register as tinygrad's LLVM code has it, which LLVM reads from version 17 on
LLVM_REGISTER = "define void @f() {\n  %a = alloca [1 x i32]\n  store i32 0, i32* %a\n  ret void\n}\n"


def open_device(device: Any) -> DeviceName:
    """Open devices and return their full names.

    Args:
        device: a name, a tuple of names (the batch axis is sharded) or None (tinygrad's default).

    Raises:
        TypeError: if it is no name.
        ValueError: if the device does not exist here, or if its kernels would not play right.
        RuntimeError: if the CPU lacks a compiler.
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
    # Without a clang this raises an error that names what to install. tinygrad's own error would not.
    if is_cpu(name):
        cpu_compiler()
    # A missing driver, library or card raises whatever its backend raises; the error names the device first.
    try:
        renderer = opened(name).renderer
    except Exception as error:  # whatever a backend raises when it is not there
        reason = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
        if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("tinygrad.runtime.ops_"):
            reason = "tinygrad has 'CPU', 'CUDA' (NVIDIA), 'AMD', 'METAL' (Apple), 'CL' (OpenCL), 'WEBGPU' and others"
        raise ValueError(f"device {device!r} cannot be opened here: {reason}") from None
    if type(renderer).__name__ == "PTXRenderer":  # tinygrad's choice without NVRTC
        raise ValueError(
            f"device {device!r} needs NVRTC, NVIDIA's compiler of CUDA, when it is first opened: pip install "
            "'tensor_envs[cuda]', or name its library by the environment variable NVRTC_PATH, without PTX in DEV"
        )
    # A renderer must have a dialect that prints the tape, or a converter into tinygrad's instructions.
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
    # tinygrad's device NULL computes nothing on purpose, and a capture cannot read the result.
    if not is_cpu(name) and name.split(":")[0] != "NULL" and not is_capturing() and not _computes(name):
        raise ValueError(f"device {device!r} opens here, but what it computes is wrong: it may have no adapter")
    return name


@functools.cache
def _open_default() -> None:
    """Have tinygrad choose its default device, which it does by opening one after another.

    Without a choice of the user's, an NVIDIA card is CUDA's. tinygrad would take its own driver NV, whose memory no
    other library shares.
    """
    if not DEV.device and _has_cuda():
        DEV.value = "CUDA"
    with LOCK, named_to_tinygrad():
        uncached_on_failure(lambda: Device.DEFAULT)


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
    """Return whether kernels have an effect: Dawn offers an adapter that does nothing where no driver is found."""
    with compiling_in_process():
        return bool((Tensor([1, 2], dtype=dtypes.int32, device=device) + 1).tolist() == [2, 3])


def _compiles(renderer: Any, source: str) -> bool:
    try:
        renderer.compiler.compile(source)
    except Exception:  # compilers raise errors of many classes
        return False
    return True
