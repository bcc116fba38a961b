"""Transcripts of connect four: the numbers of columns, "4453", with spaces between them on boards of ten or more."""

from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.files.records import Record
from tensor_envs.games._kit.transcripts import check_start, words_of
from tensor_envs.games.connect_four.notation import action_to_string
from tensor_envs.games.connect_four.rules import ConnectFour


def write(rules: ConnectFour, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return the columns of all stones in order."""
    check_start(game, "a transcript")
    return (" " * (rules.columns > 9)).join(action_to_string(rules, action) for action in game.actions) + "\n"


def read(rules: ConnectFour, text: str) -> tuple[None, Iterator[tuple[str, str]]]:
    """Return the names and places of the moves."""
    return None, words_of(text, r"\d+" if rules.columns > 9 else r"\d", "4")
