"""Moves as a player may know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def told(
    moves: Sequence[str],
    whole: Mapping[str, Any],
    seen: Mapping[str, Any],
    facedown: str = "a card, face down",
) -> list[str]:
    """The names of all moves of a game; those of cards that lie face down, and are another player's, are left out.

    whole, seen: the position, and what a player knows of it, as dictionaries. Of the cards that were placed last, in
    the order of placing, "commit" says which lie there.
    """
    cards = [
        pair
        for both in zip(whole.get("commit", ()), seen.get("commit", ()), strict=True)
        for pair in zip(*both, strict=True)
    ]
    differs = [card != shown for card, shown in cards if card >= 0]
    placed = [ply for ply, name in enumerate(moves) if name.startswith("PLACE")]
    names = list(moves)
    for ply, hidden in zip(placed[len(placed) - len(differs) :], differs, strict=True):
        if hidden:
            names[ply] = facedown
    return names
