"""Players of text that need no language model, and what they read."""

from __future__ import annotations

import re
from zlib import crc32

import tensor_envs as te
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")


def legal(text: str) -> list[str]:
    """Return the legal moves that a prompt lists."""
    return re.findall(r"Legal moves: (.*)", text)[-1].split("; ")


def first(text: str) -> str:
    return f"Whatever.\nMove: {legal(text)[0]}"


def scattered(text: str) -> tuple[str, int]:
    """Answer a move that depends on the position, and report tokens."""
    moves, position = legal(text), text.partition("You are ")[2]
    return f"I choose **{moves[crc32(position.encode()) % len(moves)]}**", 7


def labels_of(text: str) -> dict[str, str]:
    """Return what the labels of a prompt stand for."""
    return dict(
        re.findall(r"(\w+) stands for (\w+)", text.rpartition("written with other labels: ")[2].partition("\n")[0])
    )


def translated(text: str, labels: dict[str, str]) -> str:
    """Replace the labels of a text by others; made-up words may follow each other directly."""
    longest = sorted(labels, key=len, reverse=True)
    return re.sub("|".join([*longest, r"\w+"]), lambda word: labels.get(word[0], word[0]), text) if labels else text


def reader(text: str) -> str:
    """Read the board of 3x3 tic-tac-toe, with the labels that the prompt explains, and play perfectly."""
    labels = labels_of(text)
    position = translated(text.rpartition("\n\n   ")[2].partition("\n\n")[0], labels)
    rows = re.findall(r"^\d  ([.XO])  ([.XO])  ([.XO])$", position, re.M)
    board = [{"X": 1, "O": -1, ".": 0}["".join(cell)] for row in rows for cell in row]
    player = "XO".index(translated(re.findall(r"You are (\w+) in", text)[-1], labels))
    state = TTT.state_from_dicts([{"board": board, "current_player": player}])
    best = int(te.agents.solution_of(TTT).best_actions(state)[0].argmax())
    return f"I take **{translated(TTT.action_to_string(best), {old: new for new, old in labels.items()})}**."


def resigning(text: str) -> str:
    return "I resign."


def learning(text: str) -> str:
    """Answer wrongly until the prompt contains an error."""
    return legal(text)[-1] if "cannot be played: it names a move that is not legal" in text else "(9,9), or (0,0)"


def wordless(text: str) -> None:
    return None
