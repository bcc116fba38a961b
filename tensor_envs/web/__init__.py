"""Games in a browser: a folder for any server of files, played by their own kernels as WebAssembly."""

from tensor_envs.web.build import build

__all__ = ["build"]
