"""Example positions of games, by rules in plain Python: nothing is compiled."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from tensor_envs.envs.env import Env
from tensor_envs.envs.interpreter import debug
from tensor_envs.render.scene import picture, seen

DARK = Path(__file__).parent / "page" / "dark.css"
PLIES, SEED = 9, 1  # random plies, fewer in a game that they would end


def example(env: Env) -> str:
    """Return the picture of a position, as the first player sees it, with the colours that it has in the dark."""
    game = debug(env, SEED)
    values = game.fields()
    for _ in range(PLIES):
        game.step(game.uniform_action())
        if game.over:
            break
        values = game.fields()
    fields: dict[str, Any] = {"terminated": False, "truncated": False}
    for field in env.spec.all_fields:
        dtype = bool if field.kind == "bool" else np.int64
        fields[field.name] = np.reshape(values[field.name], field.shape).astype(dtype).tolist()
    position = env.entry.load("notation").to_dict(env.rules, fields)
    render = env.entry.load("render")
    svg = picture(env.rules, render, seen(env.rules, render, position, 0), 0, None)
    return svg.replace(">\n", f">\n<style>{escape(DARK.read_text(), quote=False)}</style>\n", 1)
