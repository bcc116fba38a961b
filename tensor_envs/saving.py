"""States on disk: safetensors files that also say which game under which rules they belong to."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tinygrad.nn.state import safe_load, safe_load_metadata, safe_save

from tensor_envs.core.device import resolve, upload
from tensor_envs.core.registry import make
from tensor_envs.core.state import State

FORMAT = "tensor_envs state 1"


def save_state(state: State, path: str | Path) -> None:
    """Write a state with its environment's id, version and rule fields; loads bit for bit on any device."""
    env = state.env
    fixed = env.entry.presets.get(env.id, {})
    about = {
        "format": FORMAT,
        "id": env.id,
        "version": env.version,
        "illegal": env.illegal,
        "rules": {name: value for name, value in asdict(env.rules).items() if name not in fixed},
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
    where = resolve(device)
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
    return State(env, tuple(upload(array, where) for array in arrays), about["lanes"])


def _tuples(value: Any) -> Any:
    """JSON has lists where the rules have tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
