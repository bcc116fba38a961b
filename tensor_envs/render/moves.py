"""Names of the moves of a game, without what is hidden from a player."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def visible_moves(
    moves: Sequence[str], whole: Mapping[str, Any], visible: Mapping[str, Any], facedown: str = "a card, face down"
) -> list[str]:
    """Return the names of all moves of a game, without those of another player's cards that lie face down.

    Args:
        moves: names of the moves.
        whole: the position as a dictionary; "commit" has the cards that were placed last, in the order of placing.
        visible: the position without what is hidden from a player.
        facedown: name of a hidden card.
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
            names[ply] = facedown
    return names
