"""How positions and actions of backgammon are written."""

from collections.abc import Iterator
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs._validate import nested, shown
from tensor_envs.games.backgammon.rules import BAR, FACES, MEN, POINTS, SOURCES, Backgammon, legal_moves
from tensor_envs.rules import Symmetry, integer, unpack


def to_dict(rules: Backgammon, s: dict[str, Any]) -> dict[str, Any]:
    """Fields of a game -> {"men": of either player by its pips 1..25, "dice": numbers left, "current_player"} (B12)."""
    dice = [face for face, left in enumerate(s["dice"], 1) for _ in range(left)]
    return {"men": s["men"], "dice": dice, "current_player": s["current_player"]}


def from_dict(rules: Backgammon, game: dict[str, Any]) -> dict[str, Any]:
    """The converse of `to_dict`; a player without men has won."""
    men, dice = nested("men", game["men"], (2, BAR), 0, MEN), nested("dice", game["dice"], (None,), 1, FACES)
    player = checked("current_player", game["current_player"], 0, 1)
    if max(map(sum, men)) > MEN or not any(map(sum, men)):
        raise ValueError(f"a player has at most {MEN} men, and not both have none; got {[*map(sum, men)]}")
    for pip in range(1, POINTS + 1):
        if men[0][pip - 1] and men[1][POINTS - pip]:
            raise ValueError(f"both players have men on pip {pip} of player 0")
    over = not all(map(sum, men))
    if not (len(dice) <= 4 if len({*dice}) < 2 else len(dice) == 2):
        raise ValueError(
            f"dice must be up to four equal numbers of 1..{FACES}, or two others; got {shown(dice)}"
        )
    if not dice and not over:
        raise ValueError("dice must be there as long as the game goes on")
    counts = [dice.count(face) for face in range(1, FACES + 1)]
    return {"men": men, "dice": counts, "current_player": player, "terminated": over, "truncated": False}


def legal(game: dict[str, Any]) -> list[int]:
    """The legal actions of a game that goes on."""
    own, other = game["men"][:: 1 - 2 * game["current_player"]]
    dice = [integer(game["dice"].count(face)) for face in range(1, FACES + 1)]
    moves = legal_moves([*map(integer, own)], [*map(integer, other)], dice)
    found = {
        (SOURCES - pip) * FACES + int(face.value) - 1
        for face, by in moves
        for pip in unpack([int(by.value)], BAR + 1)
    }
    return sorted(found) or [0]


def action_to_string(rules: Backgammon, action: int) -> str:
    """From pip to pip of who moves, "13/7", "bar/20", "6/off"; "4/off (6)" by a higher number; or "pass" (B4)."""
    pip, die = SOURCES - action // FACES, action % FACES + 1
    if pip > BAR:
        return "pass" if action == 0 else f"no move ({die})"
    start = "bar" if pip == BAR else str(pip)
    if pip > die:
        return f"{start}/{pip - die}"
    return f"{start}/off" if pip == die else f"{start}/off ({die})"


def symmetries(rules: Backgammon) -> Iterator[Symmetry]:
    """The identity: with the players changed, the same chance lets the other one begin."""
    yield Symmetry(tuple(range(SOURCES * FACES)), tuple(range(rules.spec.observation_shape[0])), {})
