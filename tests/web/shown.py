"""Pictures and prompts as a table shows them, and violations of accessibility rules in a page."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import tensor_envs as te
from tensor_envs.render.scene import scene

SECONDS = 120.0  # Python starts slowly on a busy machine
AXE = os.environ.get("TENSOR_ENVS_AXE")  # axe.min.js of the npm package axe-core


def violations(page: Any) -> list[str]:
    """Return the violations of axe-core's rules, each with the first part of the page that has it."""
    assert AXE is not None
    page.evaluate(Path(AXE).read_text())
    found = page.evaluate("axe.run(document).then(({ violations, passes }) => ({ violations, passes: passes.length }))")
    assert found["passes"] > 10
    return [
        f"{v['id']}: {v['nodes'][0]['html'][:200]} ({v['nodes'][0]['failureSummary']})" for v in found["violations"]
    ]


def until(page: Any, expression: str) -> None:
    """Wait until a JavaScript expression holds. Playwright's `wait_for_function` evaluates it inside the page, whose
    policy forbids that.
    """
    deadline = time.monotonic() + SECONDS
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, expression
        page.wait_for_timeout(20)


def svg_after(env: te.Env, actions: list[int], seed: int, viewer: int | None) -> str:
    """Return the picture after some actions of a game without hidden moves, the last one marked."""
    if not actions:
        return env.render(env.init(1, seed), 0, viewer)
    *first, last = actions
    state = env.init(1, seed)
    for action in first:
        state = env.step(state, [action])
    before, now, moves = env.state_to_dict(state), env.step(state, [last]), [env.action_names[a] for a in actions]
    render = env.entry.load("render")
    return str(scene(env.rules, render, env.state_to_dict(now), viewer, moves, (), [(before, last)])["svg"])


def prompt_of(page: Any) -> str:
    """Unfold the text of the position, unless it is, and return it."""
    if not page.evaluate("document.getElementById('words').open"):
        page.click("#words summary")
    page.wait_for_selector("#text:not(:empty)")
    text: str = page.text_content("#text")
    return text
