"""Match files of backgammon programs: the dice and moves of every turn.

The dice of a game follow from its seed, so a file has the seed in a comment, and files of other programs, whose dice no
seed gives, are refused.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from tensor_envs._validate import errors_at, shortened, shown
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.files.records import Record
from tensor_envs.games._kit.transcripts import check_start
from tensor_envs.games.backgammon.notation import action_to_string
from tensor_envs.games.backgammon.rules import Backgammon
from tensor_envs.games.backgammon.turns import Side, turn_to_actions, turn_to_string

WIDTH = 36  # width of White's column
NUMBER = re.compile(r"^\s*(\d+)\)", re.MULTILINE)
TURN = re.compile(r"([1-6])([1-6]):((?:(?![1-6]{2}:)[^\n])*)")
CUBE = re.compile(r"Doubles( => \d+)?|Takes|Drops|Wins \d+ points?( and the match)?", re.IGNORECASE)
COMMENT = re.compile(r';\s*\[(Seed|Row|Plies) "(\d+)"\]', re.IGNORECASE)


def write(rules: Backgammon, game: Record, positions: Sequence[dict[str, Any]]) -> str:
    """Return a game as a match file of one game. positions: the fields before each action and after the last one."""
    check_start(game, "a match file")
    cells = list[str]()
    for player, plies in groupby(range(len(game.actions)), lambda ply: game.players[ply]):
        first, *_ = turn = [*plies]
        if not cells and player:
            cells.append("")
        dice = positions[first]["dice"]
        men = positions[first]["men"]
        moves = turn_to_string(_side(men, player), (game.actions[ply] for ply in turn))
        cells.append(f"{''.join(map(str, _thrown(dice)))}: {moves or 'Cannot Move'}")
    lines = [
        f'; [Seed "{game.seed}"]',
        f'; [Row "{game.row}"]',
        f'; [Plies "{len(game.actions)}"]',
        "",
        " 0 point match",
        "",
        " Game 1",
    ]
    lines.append(f" {'White : 0':<{WIDTH + 5}}Black : 0")
    for row in range(0, len(cells), 2):
        white, black = (*cells[row : row + 2], "")[:2]
        lines.append(f"{row // 2 + 1:>3}) {white:<{WIDTH}} {black}".rstrip())
    if game.terminated and (points := positions[-1]["rewards"][0]):
        lines.append(f"{'':<{6 if points > 0 else WIDTH + 6}}Wins {abs(points):g} point{'s' * (abs(points) != 1)}")
    return "\n".join(lines) + "\n"


def read(rules: Backgammon, text: str) -> tuple[None, Iterator[tuple[str, str]], dict[str, int]]:
    """Return the names and places of the moves of the first game, and the seed and row of its dice."""
    found = {name.lower(): int(number) for name, number in COMMENT.findall(text)}
    plies = found.pop("plies", None)  # files of earlier versions have no number
    chance = {"seed": 0, "row": 0} | found
    return None, _counted(_moves(rules, text, chance), plies), chance


def _counted(moves: Iterator[tuple[str, str]], plies: int | None) -> Iterator[tuple[str, str]]:
    """Yield moves. ValueError at their end if they are fewer than the file says."""
    count = 0
    for move in moves:
        yield move
        count += 1
    if plies is not None and count < plies:
        raise ValueError(f"it breaks off: it has {count} of {plies} moves")


def _moves(rules: Backgammon, text: str, chance: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of moves. ValueError for other dice, or a turn that is none; it names the turn."""
    game = ScalarGame(rules, **chance)
    for number, turn in _turns(text):
        first, second, moves = turn.groups()
        place = shortened(f"turn {number}, {' '.join(turn[0].split())}")
        now = game.fields()
        dice = [face for face, left in enumerate(now["dice"], 1) for _ in range(left)]
        if sorted(map(int, (first, second))) != sorted(_thrown(now["dice"])):
            thrown = "".join(map(str, dice))
            raise ValueError(f"{place}: the dice left are {thrown} by seed {chance['seed']}, row {chance['row']}")
        with errors_at(place):
            actions = turn_to_actions(_side(now["men"], now["current_player"]), dice, moves)
        for action in actions:
            yield action_to_string(rules, action), place
            game.step(action)


def _turns(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the turns of the first game, each with the number of its line. ValueError for a line of anything else."""
    lines = [*NUMBER.finditer(text)]
    if not lines and "point match" not in text:
        raise ValueError("it has neither a match nor turns")
    for k, line in enumerate(lines):
        if k and line[1] == "1":
            return  # the next game
        cells = text[line.end() :].partition("\n")[0]
        turns = [*TURN.finditer(cells)]
        before = cells[: turns[0].start()] if turns else cells
        if not cells.strip() or CUBE.sub("", before).strip():
            raise ValueError(f"turn {line[1]}: two dice such as 31: must follow, got {shown(cells.strip())}")
        for turn in turns:
            yield line[1], turn


def _side(men: Sequence[Sequence[int]], player: int) -> Side:
    """Return the men of a position from a player's side."""
    return Side(tuple(men[player]), tuple(men[1 - player]))


def _thrown(dice: Sequence[int]) -> list[int]:
    """Return the faces of the dice at the beginning of a turn, the higher one first."""
    faces = [face for face, left in enumerate(dice, 1) if left]
    return [faces[-1], faces[0]]
