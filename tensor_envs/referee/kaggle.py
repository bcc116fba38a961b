"""Replays of Kaggle's OpenSpiel environments as records."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensor_envs._validate import instance, integer, literal, shown
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.evaluation.engines.open_spiel import GAMES, SpielGame
from tensor_envs.files.records import Record, begin, extend, warn_after_end
from tensor_envs.rules.spec import INT_HIGH, INT_LOW

GAME = re.compile(r"(\w+?)(?:_proxy)?\((.*)\)")  # OpenSpiel's name, such as "connect_four_proxy(rows=6,columns=7)"


def checkers_number(action: int) -> int:
    """Return our number of OpenSpiel's action: row, column, direction and kind, on a board turned by 180 degrees."""
    square, rest = divmod(integer("action", action, 0, 8 * 64 - 1), 8)
    row, column = divmod(63 - square, 8)
    return rest % 2 * 128 + (rest // 2 + 2) % 4 * 32 + row * 4 + column // 2


def lines_name(action: int) -> str:
    """Return our name of OpenSpiel's action, which encodes a start, an end and whether it captures."""
    start, end = divmod(action // 2, 64)
    return "".join("abcdefgh"[square % 8] + str(square // 8 + 1) for square in (start, end))


def quoridor_number(action: int, game: dict[str, Any], rules: Any) -> int:
    """Return our number of OpenSpiel's action, a row and a column of a grid with lines between squares.

    Even rows and columns encode a step; 2 is no change. A jump over the other pawn has the number of a step.
    """
    size = rules.size
    width = 2 * size - 1
    row, column = divmod(integer("action", action, 0, width * width - 1), width)
    if row % 2 or column % 2:
        wall = row // 2 * (size - 1) + column // 2
        return size * size + wall + (size - 1) ** 2 * (column % 2)
    step = (row // 2 - 1) * size + column // 2 - 1
    own, other = game["pawns"][:: -1 if game["current_player"] else 1]
    return own + step + step * (own + step == other)


# OpenSpiel's other games with our moves. Their draws may differ, so they cannot serve as engines.
OTHER_GAMES = {
    "checkers": SpielGame("checkers", checkers_number),
    "dark_hex": SpielGame("dark_hex(board_size={size})"),
    "lines_of_action": SpielGame("lines_of_action"),
    "quoridor": SpielGame("quoridor(board_size={size},wall_count={walls})"),
    "ultimate_tic_tac_toe": SpielGame("ultimate_tic_tac_toe"),
}
ALL_GAMES = GAMES | OTHER_GAMES
IDS = {game.name.partition("(")[0]: name for name, game in ALL_GAMES.items()}  # our ids by OpenSpiel's names
# parameters for which we have no field, and the values that are supported
REQUIRED = {"chess960": False, "handicap": 0, "utility_margin": False, "players": 2, "gameversion": "cdh"}
SIZES = {"breakthrough": {"rows": 8, "columns": 8}, "checkers": {"rows": 8, "columns": 8}}
SECOND_BEGINS = {"chess"}  # OpenSpiel's player 1 is our player 0


def read(path: Path) -> Record:
    """Return the record of a replay, with the teams' names in its notes.

    The record omits an illegal answer that ended the game.

    Raises:
        ValueError: the file is no such replay, or the game is not supported. The error has the path.
        OSError: the file cannot be read.
    """
    try:
        info = _entry(json.loads(path.read_bytes()), "info")
        env = _game_of(str(_entry(info, "openSpielGameStringResolved")))
        history = _entry(info, "actionHistory")
        instance("its entry 'actionHistory'", history, list)
        actions = [_action(ply, action) for ply, action in enumerate(history)]
        game, rest = _replay(env, actions)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} holds no replay that can be read: {error}") from None
    if rest:
        warn_after_end(path, game, rest)
    notes: dict[str, Any] = {"after_end": rest} if rest else {}
    teams = info.get("TeamNames")
    if isinstance(teams, list) and len(teams) == 2:
        notes["players"] = [str(team) for team in teams[:: -1 if env.id in SECOND_BEGINS else 1]]
    return replace(game, notes=notes)


def _action(ply: int, value: Any) -> int:
    """Return OpenSpiel's number of an action, which is a string of digits or an int in replays."""
    digits = isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value)
    return integer(f"actionHistory[{ply}]", int(value) if digits else value, INT_LOW, INT_HIGH)


def _replay(env: Env, history: Sequence[int]) -> tuple[Record, list[str]]:
    """Return the record of OpenSpiel's actions, and the actions after the end of the game by our rules."""
    game, state = begin(env)
    actions = iter(history)
    for action in actions:
        if game.terminated or game.truncated:
            return game, list(map(str, (action, *actions)))
        number = _number(env, game, env.row(state, 0), action, actions)
        if number is None:
            break
        if number not in env.legal_actions(state):
            raise ValueError(f"ply {len(game.actions)}: OpenSpiel's action {action} is not legal")
        game, state = extend(game, state, number)
    return game, []


def _number(env: Env, game: Record, fields: dict[str, Any], action: int, more: Iterator[int]) -> int | None:
    """Return our number of OpenSpiel's action, or -1 if there is none.

    In ultimate tic-tac-toe, OpenSpiel's choice of a board and the next action in `more` are one of our actions. The
    result is None if the next action is missing.
    """
    try:
        if env.id == "lines_of_action":
            return env.string_to_action(lines_name(action))
        if env.id == "quoridor":
            return quoridor_number(action, fields, env.rules)
        if env.id == "ultimate_tic_tac_toe":
            row, column = divmod(game.actions[-1], 9) if game.actions else (0, 0)
            board = row % 3 * 3 + column % 3
            # If the board is free, OpenSpiel has a separate action for its choice.
            if not game.actions or fields["closed"] >> board & 1:
                board = action
                cell = next(more, None)
                if cell is None:
                    return None
                action = cell
            integer("board", board, 0, 8)
            integer("action", action, 0, 8)
            return 27 * (board // 3) + 3 * (board % 3) + 9 * (action // 3) + action % 3
        return ALL_GAMES[env.id].number(action)
    except ValueError:  # the number is no action of OpenSpiel's, or names no direction of a piece
        return -1


def _entry(values: Any, name: str) -> Any:
    """Return an entry of a JSON object. ValueError if it is missing."""
    if not isinstance(values, dict) or name not in values:
        raise ValueError(f"its entry {name!r} is missing")
    return values[name]


def _game_of(text: str) -> Env:
    """Return the environment for OpenSpiel's name of a game. ValueError if the game is not supported."""
    match = GAME.fullmatch(text)
    if match is None or match[1] not in IDS:
        raise ValueError(f"its game must be one of {', '.join(sorted(IDS))}, got {shown(text)}")
    name = IDS[match[1]]
    parameters = dict[str, Any]()
    for part in filter(None, match[2].split(",")):
        parameter, _, value = part.partition("=")
        parameters[parameter] = literal(value) if re.fullmatch(r"-?[\d.]+|True|False", value) else value
    for parameter, value in (REQUIRED | SIZES.get(name, {})).items():
        if parameters.get(parameter, value) != value:
            raise ValueError(f"{parameter} of its game must be {value}, got {shown(parameters[parameter])}")
    fields = dict(re.findall(r"(\w+)={(\w+)}", ALL_GAMES[name].name))
    env = make(name, **{field: parameters[ours] for ours, field in fields.items() if ours in parameters})
    # OpenSpiel's boards of Hex may be rectangles.
    if name in ("hex", "dark_hex"):
        for side in ("num_rows", "num_cols"):
            if parameters.get(side, env.rules.size) != env.rules.size:
                raise ValueError(f"{side} of its game must be {env.rules.size}, got {shown(parameters[side])}")
    return env
