"""A page a game: its rulebook, and around it what the game itself and the tables of other pages say of it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

import tensor_envs as te
import tensor_envs.games

ROOT = Path(__file__).resolve().parents[2]
ENTRIES: dict[str, te.GameEntry] = {
    module.name: importlib.import_module(f"tensor_envs.games.{module.name}").GAME
    for module in pkgutil.iter_modules(tensor_envs.games.__path__)
    if module.ispkg
}
# by the heading of a page's figures where tables of them stand
FIGURES = {
    "Exact results": "scripts/known_results/README.md",
    "Trained players": "tensor_envs/weights/README.md",
    "Speed": "README.md",
    "Speed, version 0.1.0": "scripts/measured/games.md",
    "A model of an H100": "scripts/measured/gpu_model.md",
}
PLIES, SEED = 9, 1  # of the game of which a page shows the position before the last one
# fields, actions and numbers of an observation that a page shows before they are folded
LONG, MANY, NUMBERS = 20, 60, 200
SOME = 12  # legal actions that are named
WIDE = 60  # letters of a rule field's default that is not left out
DIGITS = 4  # of a number in a table of an observation


def ids(folder: str) -> list[str]:
    """The game's own and those of its presets."""
    return [ENTRIES[folder].id, *ENTRIES[folder].presets]


def title(folder: str) -> str:
    return rulebook(folder).partition("\n")[0].removeprefix("# ")


def rulebook(folder: str) -> str:
    return (ROOT / "tensor_envs" / "games" / folder / "RULES.md").read_text(encoding="utf-8")


def folders() -> list[str]:
    """Those of the games, by the titles of their rulebooks."""
    return sorted(ENTRIES, key=title)


def index() -> str:
    """The page of all games."""
    lines = ["# Games", "", '<div class="grid cards" markdown>', ""]
    for folder in folders():
        about = rulebook(folder).split("\n\n")[1].replace("\n", " ")
        first = re.split(r"(?<=[.;]) ", about)[0].rstrip(";.")
        names = ", ".join(f"`{id}`" for id in ids(folder))
        lines += [
            f"- [![{title(folder)}](../pictures/{folder}.svg)]({folder}.md)",
            "",
            f"    **[{title(folder)}]({folder}.md)** · {names}",
            "",
            f"    {first}.",
            "",
        ]
    return "\n".join([*lines, "</div>", ""])


def page(folder: str, rules: str, boards: Sequence[str]) -> str:
    """The rulebook with the picture, the board and the Spec above its first section, and tables below the last one."""
    about, heading, numbered = rules.partition("\n## ")
    intro, table, facts = about.partition("\n| | |\n")
    parts = [
        intro,
        f"![{title(folder)}](../../../scripts/pictures/{folder}.svg)",
        *board([id for id in ids(folder) if id in boards]),
        table + facts,
        call(folder),
        figures_of_spec(folder),
        actions(folder),
        position(folder),
        heading + numbered,
        *(results(folder, name, source) for name, source in FIGURES.items()),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def board(ids: Sequence[str]) -> Iterator[str]:
    """A frame with the boards, which is filled once it is opened."""
    for id in ids:
        yield f'??? example "Play `{id}` here, or watch thousands of games of it"'
        yield f'    <iframe src="../../play/index.html#{id}" title="{id}" loading="lazy"></iframe>'
        yield f'    <a href="../../play/index.html#{id}">On a page of its own</a>'


def call(folder: str) -> str:
    """The game as it is made, with all its rule fields."""
    rules = te.make(ENTRIES[folder].id).rules
    values = {field.name: repr(getattr(rules, field.name)) for field in fields(rules)}
    given = [f"    {n}={v}," if len(v) <= WIDE else f"    # {n}, which is long" for n, v in values.items()]
    made = [f'    "{ENTRIES[folder].id}",', *given] if given else [f'    "{ENTRIES[folder].id}"']
    code = ["```python", "import tensor_envs as te", "", "env = te.make(", *made, ")", "```"]
    about = "Its rule fields, with their defaults:" if given else "It has no rule fields:"
    return "\n".join([about, "", *folded(code, "All of them", len(given) > LONG)])


def figures_of_spec(folder: str) -> str:
    """A row an id: what the Spec says of its defaults."""
    rows = [
        "| `te.make(...)` | players | actions | observation | bytes a game | plies at most |",
        "|---|---|---|---|---|---|",
    ]
    for id in ids(folder):
        env = te.make(id)
        seen = f"{env.spec.observation_dtype} {list(env.observation_shape)}"
        plies = "by the rules" if env.spec.max_plies is None else f"{env.spec.max_plies:,}"
        facts = (f"`{id!r}`", env.num_players, env.num_actions, seen, env.state_bytes, plies)
        rows.append(f"| {' | '.join(map(str, facts))} |")
    return "\n".join(rows)


def actions(folder: str) -> str:
    """The actions' names by number, in rows as long as the board's, folded if there are many."""
    env = te.make(ENTRIES[folder].id)
    shape = env.observation_shape
    width = shape[-1] if len(shape) > 2 and shape[-1] <= env.num_actions else 10
    width = min(width, env.num_actions)
    names = [env.action_to_string(action) for action in range(env.num_actions)]
    rows = [f"| | {' | '.join(f'+{i}' for i in range(width))} |", "|---" * (width + 1) + "|"]
    for at in range(0, env.num_actions, width):
        cells = [f"`{name}`" for name in names[at : at + width]]
        rows.append(f"| {at} | {' | '.join(cells + [''] * (width - len(cells)))} |")
    about = f"The {env.num_actions} actions of `{env.id}`; a number is that of row and column together:"
    return "\n".join(
        ["## Names of actions", "", about, "", *folded(rows, "All of them", env.num_actions > MANY)]
    )


def folded(lines: Sequence[str], heading: str, fold: bool) -> list[str]:
    """Lines that a reader opens, if `fold`."""
    return [f'??? note "{heading}"', "", *(f"    {line}" for line in lines)] if fold else [*lines]


def position(folder: str) -> str:
    """A position of random play, and what its player observes; by the rules in plain Python: nothing is compiled."""
    entry = ENTRIES[folder]
    env = te.make(entry.id)
    game = te.debug(env, SEED)
    for _ in range(PLIES):
        before = game.fields(), game.legal_actions(), game.observe()
        game.step(game.uniform_action())
        if game.over:
            break
    values, legal, seen = before
    shapes = {field.name: field.shape for field in env.spec.all_fields}
    values = {name: np.reshape(value, shapes[name]).tolist() for name, value in values.items()}
    position = entry.load("notation").to_dict(env.rules, values | {"terminated": False, "truncated": False})
    text = entry.load("render").to_string(env.rules, position)
    names = ", ".join(f"`{env.action_to_string(action)}`" for action in legal[:SOME])
    names += f" and {len(legal) - SOME} more" if len(legal) > SOME else ""
    player = values["current_player"]
    return "\n".join([
        "## A position",
        "",
        f"After {values['ply']} plies of random play, `env.to_string(state)`:",
        "",
        f"``` {{ .text .output }}\n{text}\n```",
        "",
        f"Player {player} is to move, and may play {names}. What it observes, `env.observe(state)`:",
        "",
        *folded(f"``` {{ .text .output }}\n{written(seen)}\n```".splitlines(), "All of it", seen.size > NUMBERS),
    ])  # fmt: skip


def written(seen: np.ndarray[Any, Any]) -> str:
    """An observation: boards plane by plane, anything else in rows of numbers."""
    seen = seen.astype(np.int32) if seen.dtype == bool else seen
    with np.printoptions(linewidth=100, threshold=10**6, precision=DIGITS, suppress=True):
        return str(seen)


def results(folder: str, heading: str, source: str) -> str:
    """The rows of a page's tables that are about the game, each table with its head; "" if there are none."""
    own = {*ids(folder), title(folder).lower(), title(folder).lower().split()[-1]}
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", (ROOT / source).read_text(encoding="utf-8"), re.M):
        head, line, *rows = block.splitlines()
        if head.split("|")[1].strip() not in ("game", "what", "environment"):
            continue
        kept, last = [], ""
        for row in rows:
            last = row.split("|")[1].strip(" `").lower() or last
            if any(re.match(rf"{re.escape(name)}\b", last) for name in own):
                kept.append(row)
        if kept:
            found.append("\n".join([head, line, *kept]))
    if not found:
        return ""
    link = f"../../../{source}"
    return "\n\n".join(
        [f"## {heading}", f"From the tables of [this page]({link}), which says how they were found.", *found]
    )
