"""States in files, with their game and rules."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tensor_envs._compiler.devices import DeviceName, resolve
from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._files import read_arrays, write_arrays
from tensor_envs._validate import file_path, instance
from tensor_envs.env import Env
from tensor_envs.registry import make
from tensor_envs.state import State

FORMAT = "tensor_envs state 2"


def save_state(state: State, path: str | Path) -> None:
    """Write a state with its environment's id, version and rule fields; it loads bit for bit on any device.

    Args:
        state: the games.
        path: of the safetensors file. An existing file is replaced once all is written.

    Raises:
        TypeError: another argument.
        OSError: names the path; an existing file is unchanged.

    Examples:
        >>> import tempfile
        >>> state = te.make("tic_tac_toe").init(2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     te.save_state(state, f"{folder}/state")
        ...     len(te.load_state(f"{folder}/state"))
        2
    """
    instance("state", state, State)
    path = file_path("path", path)
    env, buffers = state.env, state.buffers
    arrays = {"words": buffers.layout.table(buffers.words), "row_rng": buffers.layout.table(buffers.row_keys)}
    write_arrays(path, FORMAT, env_metadata(env), arrays)


def env_metadata(env: Env) -> dict[str, Any]:
    """Return the metadata of an environment for a file."""
    fixed = env.entry.presets.get(env.id, {})
    rules = {name: value for name, value in asdict(env.rules).items() if name not in fixed}
    return {"id": env.id, "version": env.version, "illegal": env.illegal, "rules": rules}


def env_of(metadata: dict[str, Any]) -> Env:
    """Return the environment of a file's metadata. KeyError, TypeError, ValueError or AttributeError if invalid."""
    env = make(metadata["id"], illegal=metadata["illegal"], **{k: _tuples(v) for k, v in metadata["rules"].items()})
    if env.version != metadata["version"]:
        raise ValueError(f"it was saved by version {metadata['version']} of {env.id!r}, this is {env.version}")
    return env


def load_state(path: str | Path, device: DeviceName | None = None) -> State:
    """Load a state from a file.

    Args:
        path: of the file.
        device: as in `Env.init`.

    Returns:
        The state, with a new environment (`state.env`).

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file, if it is no saved state, is damaged, or is of another version.

    Examples:
        >>> import tempfile
        >>> state = te.make("tensor_stars").init(3, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     te.save_state(state, f"{folder}/state")
        ...     te.load_state(f"{folder}/state").env
        <Env tensor_stars-v0>
    """
    path = file_path("path", path)
    metadata, arrays = read_arrays(path, FORMAT)
    try:
        env = env_of(metadata)
        table, row_keys, layout = arrays["words"], arrays["row_rng"], env.engine.layout
        if table.dtype != np.uint32 or table.shape != (len(table), layout.words) or not 0 < len(table) <= MAX_BATCH:
            raise ValueError(f"its words are not those of {env!r}")
        if row_keys.dtype != np.uint32 or row_keys.shape != (len(table), KEY_WORDS):
            raise ValueError("its rows' random keys are of another shape")
        layout.check(table)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{str(path)!r} holds no state that can be read: {error}") from None
    return State(env, env.engine.load(table, row_keys, resolve(device)))


def _tuples(value: Any) -> Any:
    """Convert the lists of JSON to tuples, which rules use."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
