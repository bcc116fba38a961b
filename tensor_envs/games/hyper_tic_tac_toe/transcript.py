"""Transcripts of tic-tac-toe: cells such as "b2a1c3" on flat boards, else "(0,1,2)(1,1,1)"."""

from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.files.records import Record
from tensor_envs.games._kit.transcripts import check_start, words_of
from tensor_envs.games.hyper_tic_tac_toe.notation import action_to_string, cells_of
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe


def write(rules: HyperTicTacToe, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return the cells of all marks in order."""
    check_start(game, "a transcript")
    names = cells_of(rules) or [action_to_string(rules, action) for action in range(rules.cells)]
    return "".join(names[action] for action in game.actions) + "\n"


def read(rules: HyperTicTacToe, text: str) -> tuple[None, Iterator[tuple[str, str]]]:
    """Return the names and places of the moves."""
    cells = cells_of(rules)
    if not cells:
        return None, words_of(text, r"\([\d, ]+\)", action_to_string(rules, 0))
    return None, ((word.lower(), place) for word, place in words_of(text, r"[a-z]\d+", cells[0]))
