"""CUDA compiled by NVRTC, without a card."""

import ctypes

from tensor_envs._runtime.clang import nvrtc_library


def library() -> ctypes.CDLL:
    return ctypes.CDLL(str(nvrtc_library()))


def compiled(source: str, architecture: str, form: str) -> bytes:
    """Compile without an error or a warning to `form`, "PTX" or "CUBIN"."""
    nvrtc, program, size = library(), ctypes.c_void_p(), ctypes.c_size_t()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"source.cu", 0, None, None)
    option = f"--gpu-architecture={architecture}".encode()
    error = nvrtc.nvrtcCompileProgram(program, 1, (ctypes.c_char_p * 1)(option))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert (error, log.value) == (0, b"")
    nvrtc[f"nvrtcGet{form}Size"](program, ctypes.byref(size))
    binary = ctypes.create_string_buffer(size.value)
    nvrtc[f"nvrtcGet{form}"](program, binary)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return binary.raw
