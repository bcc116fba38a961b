"""Transcripts of Othello: "f5d6c3", without passes."""

from collections.abc import Iterator, Sequence
from typing import Any

from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.files.records import Record
from tensor_envs.games._kit.transcripts import check_start, words_of
from tensor_envs.games.othello.notation import action_to_string
from tensor_envs.games.othello.rules import PASS, Othello


def write(rules: Othello, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return the squares of all discs in order; a pass follows from the position."""
    check_start(game, "a transcript")
    return "".join(action_to_string(rules, action) for action in game.actions if action != PASS) + "\n"


def read(rules: Othello, text: str) -> tuple[None, Iterator[tuple[str, str]]]:
    """Return the names and places of the moves, with all passes but a last one."""
    return None, _moves(rules, text)


def _moves(rules: Othello, text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves."""
    game = ScalarGame(rules)
    actions = {action_to_string(rules, action): action for action in range(PASS + 1)}
    for word, place in words_of(text, "[a-h][1-8]|pass|--", "d3"):
        name = word.lower().replace("--", "pass")
        if name != "pass" and game.legal_actions() == [PASS]:
            game.step(PASS)
            yield "pass", place
        yield name, place
        game.step(actions[name])
