"""One page per game: its rulebook, facts from its Spec, an example position, and rows of other pages' tables."""

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
    if module.ispkg and module.name != "_kit"
}
# pages with tables of results, by the heading of their section
FIGURES = {
    "Exact results": "scripts/known_results/README.md",
    "Trained players": "tensor_envs/weights/README.md",
    "Speed": "scripts/benchmark/README.md",
}
PLIES, SEED = 9, 1  # the example is the position before the last of these plies
# upper bounds of rule fields, actions and numbers of an observation that are not folded
LONG, MANY, NUMBERS = 20, 60, 200
MAX_NAMED = 12  # legal actions that are listed by name
WIDE = 60  # characters of a rule field's default; a longer one is omitted
DIGITS = 4  # decimals of an observation
JUDGES = {  # by what a test must contain
    "OpenSpiel": r"\bpyspiel\b|from tests.games.phantom import",
    "python-chess": r"(?m)^import chess$|importorskip\(\"chess\"\)",
    "counts (perft)": r"\bte\.perft\(",
    "exact solutions": r"\bte\.(?:solve|equilibrium|exploitability)\(",
}


def ids(folder: str) -> list[str]:
    """Return the ids of the game and of its presets."""
    return [ENTRIES[folder].id, *ENTRIES[folder].presets]


def title(folder: str) -> str:
    return rulebook(folder).partition("\n")[0].removeprefix("# ")


def rulebook(folder: str) -> str:
    return (ROOT / "tensor_envs" / "games" / folder / "RULES.md").read_text(encoding="utf-8")


def specification(folder: str) -> str:
    """Return the rulebook without its title and the section "How to play"."""
    return rulebook(folder).partition("\n## Specification\n\n")[2]


def folders() -> list[str]:
    """Return the games' folders, sorted by the titles of their rulebooks."""
    return sorted(ENTRIES, key=title)


def index() -> str:
    """Return the page of all games."""
    lines = ["# Games", "", '<div class="grid cards" markdown>', ""]
    for folder in folders():
        summary = specification(folder).split("\n\n")[0].replace("\n", " ")
        first = re.split(r"(?<=[.;]) ", summary)[0].rstrip(";.")
        names = ", ".join(f"`{id}`" for id in ids(folder))
        lines += [
            f"- [![{title(folder)}](../pictures/{folder}.svg)]({folder}.md)",
            "",
            f"    **[{title(folder)}]({folder}.md)** · {names}",
            "",
            f"    {first}.",
            "",
        ]
    return "\n".join([*lines, "</div>", "", *provenance(), ""])


def provenance() -> list[str]:
    """Return the lines of a table of sources and judges: from the head of each rulebook, and from the game's tests."""
    rows = [
        "## Sources and judges",
        "",
        "Sources are those that the rulebook names, with the year of the oldest. Every game is compared ply by ply",
        "with an engine in plain Python that is written from the rulebook; the other judges are those of its tests.",
        "",
        "| game | ids | oldest source | sources | other judges |",
        "|---|---|---|---|---|",
    ]
    for folder in folders():
        named = sources(folder)
        years = re.findall(r"\b1[89]\d\d\b|\b20\d\d\b", re.sub(r"https?:\S+|arXiv \S+", "", named))
        names = ", ".join(f"`{id}`" for id in ids(folder))
        cells = (f"[{title(folder)}]({folder}.md)", names, min(years, default=""), named, ", ".join(judges(folder)))
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def sources(folder: str) -> str:
    """Return the sources that the introduction of a rulebook names, without links; "" if it names none."""
    introduction = specification(folder).partition("\n## ")[0].replace("\n", " ")
    match = re.search(r"Sources?: (.*?)\.? (?:Code and tests cite|F marks|Its pictures|\| \|)", f"{introduction} | |")
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", match[1]) if match else ""


def judges(folder: str) -> list[str]:
    """Return the names of what a game's tests compare it with, beside the reference in plain Python."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "games" / folder).glob("test_*.py"))
    answers = "\n## Known answers" in rulebook(folder)
    uses = {judge: bool(re.search(pattern, tests)) for judge, pattern in JUDGES.items()}
    return [judge for judge, is_used in uses.items() if is_used] + ["known answers"] * answers


def page(folder: str, rules: str, boards: Sequence[str]) -> str:
    """Return the rulebook with a picture and boards after "How to play", facts of the Spec after the introduction of
    the specification, and tables at its end.
    """
    short, title_of_rest, rest = rules.partition("\n## Specification\n")
    introduction, heading, numbered = rest.partition("\n## ")
    intro, table, facts = introduction.partition("\n| | |\n")
    parts = [
        short,
        f"![{title(folder)}](../../../scripts/pictures/{folder}.svg)",
        *film(folder),
        *board([id for id in ids(folder) if id in boards]),
        title_of_rest + intro,
        table + facts,
        call(folder),
        figures_of_spec(folder),
        actions(folder),
        observation(folder),
        position(folder),
        heading + numbered,
        *(results(folder, name, source) for name, source in FIGURES.items()),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def film(folder: str) -> Iterator[str]:
    """Yield the picture of a whole game that was clicked at a table, where there is one."""
    if (ROOT / "scripts" / "pictures" / f"{folder}.gif").is_file():
        yield f"![A whole game by clicks](../../../scripts/pictures/{folder}.gif)"


def board(ids: Sequence[str]) -> Iterator[str]:
    """Yield lines of a frame per board, which loads when it is opened."""
    for id in ids:
        yield f'??? example "Play `{id}` here, or watch thousands of games of it"'
        yield f'    <iframe src="../../play/index.html#{id}" title="{id}" loading="lazy"></iframe>'
        yield f'    <a href="../../play/index.html#{id}">On a page of its own</a>'


def call(folder: str) -> str:
    """Return the call of `te.make` with all rule fields."""
    rules = te.make(ENTRIES[folder].id).rules
    values = {field.name: repr(getattr(rules, field.name)) for field in fields(rules)}
    arguments = [f"    {n}={v}," if len(v) <= WIDE else f"    # {n}, which is long" for n, v in values.items()]
    made = [f'    "{ENTRIES[folder].id}",', *arguments] if arguments else [f'    "{ENTRIES[folder].id}"']
    code = ["```python", "import tensor_envs as te", "", "env = te.make(", *made, ")", "```"]
    lead = "Its rule fields, with their defaults:" if arguments else "It has no rule fields:"
    return "\n".join([lead, "", *folded(code, "All of them", len(arguments) > LONG)])


def figures_of_spec(folder: str) -> str:
    """Return a table of facts from the Spec, with one row per id."""
    rows = [
        "| `te.make(...)` | players | actions | observation | bytes a game | plies at most |",
        "|---|---|---|---|---|---|",
    ]
    for id in ids(folder):
        env = te.make(id)
        observation = f"{env.spec.observation_dtype} {list(env.observation_shape)}"
        plies = "by the rules" if env.spec.max_plies is None else f"{env.spec.max_plies:,}"
        facts = (f"`{id!r}`", env.num_players, env.num_actions, observation, env.state_bytes, plies)
        rows.append(f"| {' | '.join(map(str, facts))} |")
    return "\n".join(rows)


def actions(folder: str) -> str:
    """Return a table of action names, as wide as the board, folded if it is long."""
    env = te.make(ENTRIES[folder].id)
    shape = env.observation_shape
    width = shape[-1] if len(shape) > 2 and shape[-1] <= env.num_actions else 10
    width = min(width, env.num_actions)
    names = list(env.action_names)
    rows = [f"| | {' | '.join(f'+{i}' for i in range(width))} |", "|---" * (width + 1) + "|"]
    for at in range(0, env.num_actions, width):
        cells = [f"`{name}`" for name in names[at : at + width]]
        rows.append(f"| {at} | {' | '.join(cells + [''] * (width - len(cells)))} |")
    lead = f"The {env.num_actions} actions of `{env.id}`; a number is that of row and column together:"
    return "\n".join(["## Names of actions", "", lead, "", *folded(rows, "All of them", env.num_actions > MANY)])


def observation(folder: str) -> str:
    """Return a table of an observation's entries and their meanings."""
    env = te.make(ENTRIES[folder].id)
    plain = te.debug(env, SEED)
    parts = plain.game.named_parts(plain.state, plain.game.mask(plain.state), plain.state.current_player)
    rows, first = ["| entries | meaning |", "|---|---|"], 0
    for name, group in parts.items():
        sizes = [part.size for part in group]
        size, same = sum(sizes), len({*sizes}) == 1
        split = f" ({len(group)} x {sizes[0]})" if same and len(group) > 1 and sizes[0] > 1 else ""
        rows.append(f"| {first}{f'..{first + size - 1}' if size > 1 else ''} | {name}{split} |")
        first += size
    lead = f"Entries of `env.observe(state)` in memory order, of shape {list(env.observation_shape)}:"
    return "\n".join(["## Entries of an observation", "", lead, "", *folded(rows, "All of them", len(rows) > LONG)])


def folded(lines: Sequence[str], heading: str, fold: bool) -> list[str]:
    """Return the lines, inside a collapsed block if `fold`."""
    return [f'??? note "{heading}"', "", *(f"    {line}" for line in lines)] if fold else [*lines]


def position(folder: str) -> str:
    """Return an example position and its observation. The rules run in plain Python, so nothing is compiled."""
    entry = ENTRIES[folder]
    env = te.make(entry.id)
    game = te.debug(env, SEED)
    for _ in range(PLIES):
        before = game.fields(), game.legal_actions(), game.observe()
        game.step(game.uniform_action())
        if game.over:
            break
    values, legal, observation = before
    shapes = {field.name: field.shape for field in env.spec.all_fields}
    values = {name: np.reshape(value, shapes[name]).tolist() for name, value in values.items()}
    position = entry.load("notation").to_dict(env.rules, values | {"terminated": False, "truncated": False})
    text = entry.load("render").to_string(env.rules, position)
    names = ", ".join(f"`{env.action_names[action]}`" for action in legal[:MAX_NAMED])
    names += f" and {len(legal) - MAX_NAMED} more" if len(legal) > MAX_NAMED else ""
    player, lines = (values["current_player"], f"``` {{ .text .output }}\n{written(observation)}\n```".splitlines())
    return "\n".join([
        "## A position",
        "",
        f"After {values['ply']} plies of random play, `env.to_string(state)`:",
        "",
        f"``` {{ .text .output }}\n{text}\n```",
        "",
        f"Player {player} is to move, and may play {names}. What it observes, `env.observe(state)`:",
        "",
        *folded(lines, "All of it", observation.size > NUMBERS),
    ])  # fmt: skip


def written(observation: np.ndarray[Any, Any]) -> str:
    """Format an observation: boards plane by plane, anything else in rows of numbers."""
    observation = observation.astype(np.int32) if observation.dtype == bool else observation
    with np.printoptions(linewidth=100, threshold=10**6, precision=DIGITS, suppress=True):
        return str(observation)


def results(folder: str, heading: str, source: str) -> str:
    """Return the game's rows of a page's tables, each table with its head; "" if there are none."""
    own = {*ids(folder), title(folder).lower(), title(folder).lower().split()[-1]}
    tables = []
    for block in re.findall(r"(?:^\|.*\n)+", (ROOT / source).read_text(encoding="utf-8"), re.M):
        head, line, *rows = block.splitlines()
        if head.split("|")[1].strip() not in ("game", "what", "environment"):
            continue
        chosen, last = [], ""
        for row in rows:
            last = row.split("|")[1].strip(" `").lower() or last
            if any(re.match(rf"{re.escape(name)}\b", last) for name in own):
                chosen.append(row)
        if chosen:
            tables.append("\n".join([head, line, *chosen]))
    if not tables:
        return ""
    link = f"../../../{source}"
    return "\n\n".join(
        [f"## {heading}", f"From the tables of [this page]({link}), which says how they were measured.", *tables]
    )
