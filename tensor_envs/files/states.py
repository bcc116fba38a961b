"""States in files, with their game and rules."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tensor_envs._engine.batch_layout import MAX_BATCH
from tensor_envs._engine.random import KEY_WORDS
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import file_path, instance
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import env_of, words_metadata
from tensor_envs.envs.state import State
from tensor_envs.files.arrays import read_arrays, write_arrays

FORMAT = "tensor_envs state 2"


def save_state(state: State, path: str | Path) -> None:
    """Write a state with its environment's id, version and rule fields; it loads bit for bit on any device.

    Args:
        state: the games.
        path: path of the safetensors file. An existing file is replaced once all is written.

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
    write_arrays(path, FORMAT, words_metadata(state.env), state_arrays(state))


def state_arrays(state: State) -> dict[str, np.ndarray]:
    """Return a state's words [B, W] and random keys of rows for a file, uint32."""
    buffers = state.buffers
    return {"words": buffers.layout.download(buffers.words), "row_rng": buffers.layout.download(buffers.row_keys)}


def state_of(env: Env, arrays: Mapping[str, np.ndarray], device: DeviceName | None = None) -> State:
    """Return the state of arrays by `state_arrays`. KeyError or ValueError if they are none of this environment."""
    table = arrays["words"]
    row_keys = arrays["row_rng"]
    layout = env.engine.layout
    if table.dtype != np.uint32 or table.shape != (len(table), layout.words) or not 0 < len(table) <= MAX_BATCH:
        raise ValueError(f"its words are not those of {env!r}")
    if row_keys.dtype != np.uint32 or row_keys.shape != (len(table), KEY_WORDS):
        raise ValueError("its rows' random keys are of another shape")
    layout.check(table)
    return State(env, env.engine.load(table, row_keys, open_device(device)))


def load_state(path: str | Path, device: DeviceName | None = None) -> State:
    """Load a state from a file.

    Args:
        path: path of the file.
        device: as in `Env.init`.

    Returns:
        The state, with a new environment (`state.env`).

    Raises:
        FileNotFoundError: no such file.
        ValueError: names the file, if it is no saved state, is damaged, or is of another version or of other fields.

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
    device = open_device(device)
    try:
        return state_of(env_of(metadata), arrays, device)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{str(path)!r} holds no state that can be read: {error}") from None
