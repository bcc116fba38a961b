"""Dictionaries and action names of backgammon."""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import integer as checked
from tensor_envs._validate import nested, shown
from tensor_envs.games.backgammon.rules import BAR, FACES, MEN, POINTS, SOURCES, Backgammon, legal_moves
from tensor_envs.rules import int32, unpack
from tensor_envs.rules.plain import ended

# no symmetries but the identity: with the players exchanged, the same chance lets the other one begin


def to_dict(rules: Backgammon, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"men": of each player by its pips 1..25, "dice": numbers left, "current_player"} (B12)."""
    dice = [face for face, left in enumerate(s["dice"], 1) for _ in range(left)]
    return {"men": s["men"], "dice": dice, "current_player": s["current_player"]}


def from_dict(rules: Backgammon, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary; a player without men has won."""
    men = nested("men", game["men"], (2, BAR), 0, MEN)
    dice = nested("dice", game["dice"], (None,), 1, FACES)
    player = checked("current_player", game["current_player"], 0, 1)
    if max(map(sum, men)) > MEN or not any(map(sum, men)):
        raise ValueError(f"a player has at most {MEN} men, and not both have none; got {[*map(sum, men)]}")
    for pip in range(1, POINTS + 1):
        if men[0][pip - 1] and men[1][POINTS - pip]:
            raise ValueError(f"both players have men on pip {pip} of player 0")
    over = not all(map(sum, men))
    if not (len(dice) <= 4 if len({*dice}) < 2 else len(dice) == 2):
        allowed = f"up to four equal numbers of 1..{FACES}, or two others"
        raise ValueError(f"dice must be {allowed}; got {shown(dice)}")
    if not dice and not over:
        raise ValueError("dice must be there as long as the game goes on")
    counts = [dice.count(face) for face in range(1, FACES + 1)]
    return {"men": men, "dice": counts, "current_player": player, **ended(over)}


def legal(game: dict[str, Any]) -> list[int]:
    """Return the legal actions of a game that goes on."""
    own, other = game["men"][:: 1 - 2 * game["current_player"]]
    dice = [int32(game["dice"].count(face)) for face in range(1, FACES + 1)]
    moves = legal_moves([*map(int32, own)], [*map(int32, other)], dice)
    pairs = ((int(face.value), pip) for face, pips in moves for pip in unpack([int(pips.value)], BAR + 1))
    return sorted({(SOURCES - pip) * FACES + face - 1 for face, pip in pairs}) or [0]


def spellings(rules: Backgammon, s: dict[str, Any], legal: Sequence[int]) -> dict[str, int]:
    """Return legal actions by names with a hit, "13/7*", and without the number that bears a man off, "4/off".

    The latter is no name where several numbers bear off that man.
    """
    names = dict[str, int]()
    exact = [action_to_string(rules, action) for action in legal]
    first_words = [name.partition(" ")[0] for name in exact]
    for action, name in zip(legal, exact, strict=True):
        end = SOURCES - action // FACES - action % FACES - 1
        if end >= 1 and s["men"][1 - s["current_player"]][POINTS - end] == 1 and action:
            names[f"{name}*"] = action
        elif first_words.count(short := name.partition(" ")[0]) == 1 and short != name:
            names[short] = action
    return names


def action_to_string(rules: Backgammon, action: int) -> str:
    """Return the name of a move by its pips, such as "13/7", "bar/20", "6/off" or "4/off (6)"; or "pass" (B4)."""
    pip = SOURCES - action // FACES
    die = action % FACES + 1
    if pip > BAR:
        return "pass" if action == 0 else f"no move ({die})"
    start = "bar" if pip == BAR else str(pip)
    if pip > die:
        return f"{start}/{pip - die}"
    return f"{start}/off" if pip == die else f"{start}/off ({die})"
