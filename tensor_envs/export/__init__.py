"""Games as one source file for other programs: C, CUDA, WGSL or WebAssembly."""

from __future__ import annotations

from pathlib import Path

from tensor_envs._engine.batch_layout import LANES
from tensor_envs._validate import file_path, instance, integer, one_of, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make

TARGETS = "c", "cuda", "wgsl", "wasm"

__all__ = ["TARGETS", "export"]


def export(env: Env | str, to: str, out: str | Path, lanes: int = LANES) -> None:
    """Write a game as one file without dependencies.

    Its functions seed, init, step, reset, sample, observe, mask and rollout work on the caller's memory. A source
    states layout and sizes in its header; a WebAssembly module has them as JSON in its section "tensor_envs".

    Args:
        env: an environment, or an id for `make`.
        to: "c", "cuda", "wgsl" or "wasm".
        out: the file, in a folder that exists. An earlier export is overwritten; any other file is not.
        lanes: games per block, a power of two in 1..64. With 1 a state is a plain array of words.

    Raises:
        ValueError: an unknown id or target, `lanes` that are no power of two, a folder that does not exist, or a file
            that is not an export.
        TypeError: an argument of the wrong type.
        NotImplementedError: a board that is too large for registers.
        RuntimeError: no compiler for WebAssembly.
        OSError: names the file, which cannot be written; an earlier export is as it was.

    Examples:
        >>> from tensor_envs.export import export
        >>> export("connect_four", "c", "connect_four.c")  # doctest: +SKIP
    """
    from tensor_envs.export import files

    if isinstance(env, str):
        env = make(env)
    instance("env", env, Env)
    one_of("to", to, TARGETS)
    path = file_path("out", out)
    if integer("lanes", lanes, 1, LANES) & lanes - 1:
        raise ValueError(f"lanes must be a power of two in 1..{LANES}, got {lanes}")
    if path.is_dir():
        raise ValueError(f"out must be a file, got the folder {shown(str(out))}")
    if not path.parent.is_dir():
        raise ValueError(f"out must be in a folder that exists, got {shown(str(out))}")
    if path.is_file() and files.MARK.encode() not in path.read_bytes():
        raise ValueError(f"out must be a new file or an earlier export, got the file {shown(str(out))}")
    if env.engine.game.has_memory:
        raise NotImplementedError(f"env {env.id!r} with {shown(env.rules)} cannot be exported: its board is too large")
    from tensor_envs.files.arrays import replace_file  # uses NumPy, which the web page's Python lacks

    content = getattr(files, to)(env, lanes)
    content = content.encode() if isinstance(content, str) else content
    if path.exists() and not path.is_file():  # a pipe or a device
        path.write_bytes(content)
    else:
        replace_file(path, [content])
