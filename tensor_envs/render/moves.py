"""Names of the moves of a game, without what is hidden from a player."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Game = dict[str, Any]  # a state as a dictionary of its notation
FACE_DOWN = "a card, face down"
HIDDEN = "a hidden move"


def seen_moves(rules: Any, render: Any, moves: Sequence[str], whole: Game, visible: Game, player: int) -> list[str]:
    """Return the names of all moves of a game, without what is hidden from a player.

    Args:
        rules, render: the game's rules and its module, whose function `visible_moves` decides if there is one.
        moves: names of the moves.
        whole, visible: the position as a dictionary, and without what is hidden from the player.
        player: the one who sees it.
    """
    if hasattr(render, "visible_moves"):
        names: list[str] = render.visible_moves(rules, moves, player)
        return names
    return visible_moves(moves, whole, visible)


def moves_for(
    rules: Any, render: Any, moves: Sequence[tuple[int, str]], whole: Game, visible: Game, player: int
) -> list[tuple[int, str]]:
    """Return players and names of all moves of a game; HIDDEN replaces the names that a player does not know.

    Args:
        rules, render, whole, visible, player: as for `seen_moves`.
        moves: players and names of the moves.
    """
    visible_names = seen_moves(rules, render, [name for _, name in moves], whole, visible, player)
    return [(mover, name if name == now else HIDDEN) for (mover, name), now in zip(moves, visible_names, strict=True)]


def visible_moves(moves: Sequence[str], whole: Game, visible: Game) -> list[str]:
    """Return the names of all moves of a game, without those of another player's cards that lie face down.

    Args:
        moves: names of the moves.
        whole: the position as a dictionary; "commit" has the cards that were placed last, in the order of placing.
        visible: the position without what is hidden from a player.
    """
    cards = [
        pair
        for both in zip(whole.get("commit", ()), visible.get("commit", ()), strict=True)
        for pair in zip(*both, strict=True)
    ]
    differs = [card != shown for card, shown in cards if card >= 0]
    placed = [ply for ply, name in enumerate(moves) if name.startswith("PLACE")]
    names = list(moves)
    for ply, hidden in zip(placed[len(placed) - len(differs) :], differs, strict=True):
        if hidden:
            names[ply] = FACE_DOWN
    return names
