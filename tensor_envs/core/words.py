"""Games in words, for players that read and write: language models, people at a prompt."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import asdict
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING

from tensor_envs.core.validate import shown

if TYPE_CHECKING:
    from tensor_envs.core.env import Env
    from tensor_envs.core.state import State

# what stands before an answer, as a prompt asks for it or as models like to write it
ANSWER = re.compile(r"\b(?:move|action|answer)\b[\s*_`'\"]*(?:[:=]|is\b)|\\boxed\{", re.IGNORECASE)
LISTED = 8  # names in an error, at most


def rulebook(rules: object) -> str:
    """RULES.md beside the module of the rules, or what their docstring says."""
    source = (
        inspect.getsourcefile(type(rules)) if hasattr(inspect.getmodule(type(rules)), "__file__") else None
    )
    path = Path(source).with_name("RULES.md") if source else None
    return path.read_text(encoding="utf-8") if path and path.is_file() else inspect.getdoc(rules) or ""


def describe(env: Env) -> str:
    fields = ", ".join(f"{name}={value!r}" for name, value in asdict(env.rules).items())
    players = ", ".join(f"player {player}" for player in range(env.num_players))
    return f"{rulebook(env.rules).strip()}\n\nThis game is {env.id} with {fields or 'no fields'}; it has {players}.\n"


def prompt(env: Env, state: State, i: int, player: int | None) -> str:
    now = env._row(state, i)
    mover, over = now["current_player"], now["terminated"] or now["truncated"]
    player = mover if player is None else player
    lines = [
        f"You are player {player} in {env.id}; the players are 0 to {env.num_players - 1}.",
        "",
        position(env, state, i, player),
        "",
    ]
    if over:
        lines.append("The game is over.")
    elif player != mover:  # whose legal moves may tell what is hidden
        lines.append(f"Player {mover} is to move.")
    else:
        legal = list(compress(env._action_names, now["legal_action_mask"]))
        lines.append(f"You are to move. Legal moves: {'; '.join(legal)}")
        lines.append(f"End your answer with a line that names one of them, such as: move: {legal[0]}")
    return "\n".join(lines) + "\n"


def position(env: Env, state: State, i: int, player: int | None) -> str:
    """What a player sees; the fields of a game that has no text and nothing to hide."""
    try:
        return env.to_string(state, i, player).rstrip()
    except NotImplementedError:
        if not env.spec.perfect_information:
            raise
    now = env._row(state, i)
    return "\n".join(f"{field.name}: {now[field.name]}" for field in env.spec.fields)


def parse(env: Env, text: str, legal: Sequence[int] | None) -> int:
    """legal: the legal actions, if they are known. ValueError for a text that names none or several."""
    pattern, actions = env._action_pattern
    marks = [mark.end() for mark in ANSWER.finditer(text)]
    marked = text[marks[-1] :].partition("\n")[0] if marks else ""
    last = (text.rstrip().splitlines() or [""])[-1]
    for place, most in ((marked, 1), (last, None), (text, None)):  # the likeliest first
        found = {actions[squeezed(match.group())] for match in islice(pattern.finditer(place), most)}
        if legal is not None and len(found) > 1:
            found &= set(legal)
        if len(found) == 1:
            (action,) = found
            if legal is None or action in legal:
                return action
            raise ValueError(f"{env._action_names[action]} is not legal; {listed(env, legal)}")
        if len(found) > 1:
            several = ", ".join(env._action_names[action] for action in sorted(found)[:LISTED])
            raise ValueError(f"text must name one move, got {shown(place.strip())}, which names {several}")
    raise ValueError(f"text must name a move, got {shown(text)}; {listed(env, legal)}")


def listed(env: Env, legal: Sequence[int] | None) -> str:
    some = list(range(env.num_actions) if legal is None else legal)
    if not some:
        return "no move is legal, the game is over"
    names = "; ".join(env._action_names[action] for action in some[:LISTED]) + "; ..." * (len(some) > LISTED)
    return f"{'moves' if legal is None else 'legal moves'} are {names}"


def squeezed(name: str) -> str:
    """A name as it is compared: without spaces and case."""
    return "".join(name.split()).lower()


def names_pattern(names: Sequence[str]) -> tuple[re.Pattern[str], dict[str, int]]:
    """What finds names of actions in a text, the longest first, and the actions by what it finds, squeezed."""
    actions = {squeezed(name): action for action, name in reversed(list(enumerate(names)))}

    def spaced(name: str) -> str:
        words = re.findall(r"\w+|[^\w\s]", name)
        before = r"(?<!\w)(?<!\d\.)" if name[0].isalnum() else ""
        after = r"(?!\w)(?!\.\d)" if name[-1].isalnum() else ""
        return before + r"\s*".join(map(re.escape, words)) + after

    return re.compile(
        "|".join(spaced(name) for name in sorted(names, key=len, reverse=True)), re.IGNORECASE
    ), actions
