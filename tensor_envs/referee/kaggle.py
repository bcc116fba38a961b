"""Replays of Kaggle's OpenSpiel environments as records."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tensor_envs._validate import literal, shown
from tensor_envs.files.records import Record, record
from tensor_envs.registry import make

GAME = re.compile(r"(\w+?)(?:_proxy)?\((.*)\)")  # of OpenSpiel, such as "connect_four_proxy(rows=6,columns=7)"
# our rule field for each parameter of OpenSpiel's games, whose actions have our numbers
FIELDS: dict[str, dict[str, str]] = {
    "chess": {},
    "connect_four": {"rows": "rows", "columns": "columns", "x_in_row": "k"},
    "go": {"board_size": "size", "komi": "komi", "max_game_length": "max_plies"},
    "hex": {"board_size": "size", "swap": "swap"},
    "othello": {},
    "tic_tac_toe": {},
}
REQUIRED = {"chess960": False, "handicap": 0}  # values of parameters that we have no field for
SECOND_BEGINS = {"chess"}  # OpenSpiel's player 1 is our player 0


def read(path: Path) -> Record:
    """Return the record of a replay, with the teams' names in its notes.

    An illegal answer, which ends a game there, is not a part of the record.

    Raises:
        ValueError: names the path and what is wrong: it is no such replay, or one of a game that we do not have.
        OSError: a file that cannot be read.
    """
    try:
        info = _entry(json.loads(path.read_bytes()), "info")
        name, parameters = _game_of(str(_entry(info, "openSpielGameStringResolved")))
        fields = {field: parameters[ours] for ours, field in FIELDS[name].items() if ours in parameters}
        actions = [int(action) for action in _entry(info, "actionHistory")]
        game = record(make(name, **fields), actions)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{str(path)!r} holds no replay that can be read: {error}") from None
    teams = info.get("TeamNames")
    if not (isinstance(teams, list) and len(teams) == 2):
        return game
    return replace(game, notes={"players": [str(team) for team in teams[:: -1 if name in SECOND_BEGINS else 1]]})


def _entry(values: Any, name: str) -> Any:
    """Return an entry of an object. ValueError if it has none."""
    if not isinstance(values, dict) or name not in values:
        raise ValueError(f"its entry {name!r} is missing")
    return values[name]


def _game_of(text: str) -> tuple[str, dict[str, Any]]:
    """Return our id and the parameters of a game of OpenSpiel. ValueError for a game that we cannot replay."""
    match = GAME.fullmatch(text)
    if match is None or match[1] not in FIELDS:
        raise ValueError(f"its game must be one of {', '.join(FIELDS)}, got {shown(text)}")
    parameters = dict[str, Any]()
    for part in filter(None, match[2].split(",")):
        name, _, value = part.partition("=")
        parameters[name] = literal(value) if re.fullmatch(r"-?[\d.]+|True|False", value) else value
    for name, value in REQUIRED.items():
        if parameters.get(name, value) != value:
            raise ValueError(f"{name} of its game must be {value}, got {shown(parameters[name])}")
    return match[1], parameters
