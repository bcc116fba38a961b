"""States on disk: safetensors files that also say which game under which rules they belong to."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import dtypes
from tinygrad.nn.state import safe_load, safe_load_metadata, safe_save

from tensor_envs.core.checks import instance
from tensor_envs.core.device import resolve, upload
from tensor_envs.core.env import blocking
from tensor_envs.core.plan import STREAM_ROWS
from tensor_envs.core.registry import make
from tensor_envs.core.state import State
from tensor_envs.ops.bits import num_words

FORMAT = "tensor_envs state 1"
STREAM = (STREAM_ROWS, dtypes.uint32)


def save_state(state: State, path: str | Path) -> None:
    """Write a state with its environment's id, version and rule fields; loads bit for bit on any device.

    TypeError for anything but a State.
    """
    instance("state", state, State)
    env = state.env
    fixed = env.entry.presets.get(env.id, {})
    about = {
        "format": FORMAT,
        "id": env.id,
        "version": env.version,
        "illegal": env.illegal,
        "rules": {name: value for name, value in asdict(env.rules).items() if name not in fixed},
        "batch": state.batch,
        "lanes": state.lanes,
        "buffers": len(state.tensors),
    }
    tensors = {str(i): tensor.to("CPU") for i, tensor in enumerate(state.tensors)}
    safe_save(tensors, str(path), {"tensor_envs": json.dumps(about)})


def load_state(path: str | Path, device: Any = None) -> State:
    """The state in a file, with an environment of its own (`state.env`), on a device as in `Env.init`.

    FileNotFoundError; ValueError if the file is no saved state, is damaged, or was written for another version of the
    game.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"no file {str(path)!r}")
    try:
        about = json.loads(safe_load_metadata(str(path))[2]["__metadata__"]["tensor_envs"])
        assert about["format"] == FORMAT
        arrays = [safe_load(str(path))[str(i)].to("CPU").numpy() for i in range(about["buffers"])]
    except Exception as error:  # a foreign or damaged file fails in many ways, all of which mean this
        raise ValueError(f"{str(path)!r} holds no state that can be read ({type(error).__name__})") from None
    rules = {name: _tuples(value) for name, value in about["rules"].items()}
    env = make(about["id"], illegal=about["illegal"], **rules)
    if env.version != about["version"]:
        raise ValueError(
            f"{str(path)!r} was saved by version {about['version']} of {env.id!r}, this is {env.version}"
        )
    batch, lanes = about["batch"], about["lanes"]
    fields = [(sum(f.size for f in group), dtype) for dtype, group in env.layout.items()]
    rest = [(num_words(env.num_actions), dtypes.uint32), (2, dtypes.bool), (env.num_players, dtypes.float32)]
    expected = [
        (batch * rows, np.dtype(dtype.fmt)) for dtype, rows in ((d, r) for r, d in (*fields, *rest, STREAM))
    ]
    if [(array.size, array.dtype) for array in arrays] != expected:
        raise ValueError(
            f"{str(path)!r} holds no state that can be read: its buffers are not those of {env!r}"
        )
    where = resolve(device)
    new_lanes = blocking(batch, where)[1]  # another number of devices may cut the batch into other blocks
    rows = [
        array.reshape(batch // lanes, -1, lanes).transpose(0, 2, 1).reshape(batch, -1) for array in arrays
    ]
    blocks = [table.reshape(-1, new_lanes, table.shape[1]).transpose(0, 2, 1) for table in rows]
    return State(env, tuple(upload(block, where) for block in blocks), new_lanes)


def _tuples(value: Any) -> Any:
    """JSON has lists where the rules have tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
