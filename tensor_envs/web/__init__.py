"""Games in a browser: a folder for any server of files, played by their own kernels as WebAssembly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensor_envs.web.site import build

__all__ = ["build"]


def __getattr__(name: str) -> Any:
    """Import `build` at its first use: the page alone needs none of the kernels."""
    if name == "build":
        from tensor_envs.web.site import build

        return build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
