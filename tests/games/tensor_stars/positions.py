"""Positions and turns of Tensor (stars) for tests."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

Start = Callable[..., Any]
Space = tuple[int, int]

BLACK, WHITE = 0, 1
RED, BLUE, YELLOW = range(3)
COMMIT, ORDER, OVER = range(3)
PRINTED, REVERSED = 10, 11
STARTS: tuple[Space, ...] = ((4, 0), (3, 2), (2, 4))
VARIANT_2 = {"points_to_win": 3}
OWN_BY_SIDE: dict[str, Any] = {"star_rule": "own", "star_credit": "side", "max_hands": 1}

# Cards that no printed deck has: equal and negative numbers, long parts, a part that leads back, three either-cards.
ODD_DECK = [
    {"number": number, "parts": parts, "either": either}
    for number, parts, either in [
        (7, ["T1", "A1"], True),
        (7, ["L4"], False),
        (-3, ["T2", "R3"], True),
        (40, ["R1", "L2"], False),
        (5, ["A2", "L1"], True),
        (5, ["T3", "T1"], False),
        (9, ["A1"], False),
        (1, ["L1", "R1"], False),
        (2, ["R2"], False),
        (40, ["T1"], False),
    ]
]
# The deck of section 2: the parts of card i.
PARTS = ["A1"], ["T3"], ["T1", "R1"], ["T1", "L1"], ["T2"], ["R2"], ["L2"], ["R1"], ["L1"], ["T1"]


def deck_with(*changes: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the printed deck with changes to its cards, from card 0 on."""
    deck: list[dict[str, Any]] = [
        {"number": number, "parts": parts, "either": len(parts) == 2} for number, parts in enumerate(PARTS)
    ]
    for card, change in zip(deck, changes, strict=False):
        card.update(change or {})
    return deck


# Cards 1 to 8: what is printed on card 4, but for one thing each.
FOURS = deck_with(
    None,
    *(
        {"number": 4, "parts": ["T2"], "either": False} | change
        for change in (
            {"number": 9},
            {"number": 20},
            {"number": -1},
            {"parts": ["T1"]},
            {"parts": ["A2"]},
            {"parts": ["T1", "A2"]},
            {"parts": ["T2", "R1"]},
            {"parts": ["R3", "T1"]},
        )
    ),
)
ASKED = deck_with(None, None, {"parts": ["T2", "R2"]}, {"number": 2, "parts": ["R3", "T1"]})

# 13 x 10 spaces in five words, with holes, and Stars all along both edges.
LARGE_BOARD = {
    "lines": [
        *([[0, y], [12, y]] for y in (0, 2, 3, 5, 7, 9)),
        *([[x, 0], [x, 9]] for x in (1, 4, 6, 8, 11)),
        [[0, 0], [0, 3]],
    ],
    "stars": [*([[0, y], 0] for y in (0, 2, 5, 9)), *([[12, y], 1] for y in (0, 3, 7))],
    "starts": [[6, 2], [6, 5], [6, 8]],
}


def position(
    red: Space | None = STARTS[0], blue: Space | None = STARTS[1], yellow: Space | None = STARTS[2], **fields: Any
) -> dict[str, Any]:
    """Return the opening state with the pieces elsewhere (None: out of play) and some fields changed."""
    opening: dict[str, Any] = {
        "pos": [-1 if space is None else 7 * space[1] + space[0] for space in (red, blue, yellow)],
        "hand": [[1] * 10, [1] * 10],
        "commit": [[-1] * 3, [-1] * 3],
        "scored": [0, 0, 0],
        "points": [0, 0],
        **dict.fromkeys(("turn", "hands", "phase", "player", "cursor", "truncated", "flip"), 0),
        **dict.fromkeys(("mover", "winner"), -1),
    }
    return {**opening, **fields}


def spaces(game: Any) -> list[Space | None]:
    return [(pos % 7, pos // 7) if pos >= 0 else None for pos in game.to_dict()["pos"]]


def place(game: Any, first: Sequence[int], second: Sequence[int]) -> None:
    """Return a turn's cards for red, blue and yellow: those of player 0 (Black unless flipped), then of 1."""
    for card in (*first, *second):
        game.apply(card)


def duel(game: Any, black: int, white: int, piece: int = RED) -> None:
    """Return one card of each player for one piece, and equal cards for the two others."""
    equal = [card for card in range(10) if card not in (black, white)]
    triples = [[card if slot == piece else equal[slot] for slot in range(3)] for card in (black, white)]
    place(game, *triples)


def assert_won(game: Any, winner: int | None) -> None:
    assert game.to_dict()["winner"] == (-1 if winner is None else winner)
    assert game.terminated == (winner is not None)
    assert (game.legal_actions() == []) == (winner is not None)
    expected = {None: [0, 0], BLACK: [1, -1], WHITE: [-1, 1]}[winner]
    assert list(game.rewards) == pytest.approx(expected)


def assert_rewards_are_zero(game: Any) -> None:
    assert list(game.rewards) == pytest.approx([0, 0])


def parts_of(observation: Any, size: int = 35) -> dict[str, Any]:
    """Return the flat observation by the names of its parts (section 6)."""
    numbers = [float(number) for number in observation]
    assert len(numbers) == 3 * (size + 1) + 96

    def take(*lengths: int) -> list[list[float]]:
        return [[numbers.pop(0) for _ in range(length)] for length in lengths]

    return {
        "pos": take(*[size + 1] * 3),
        "my cards": take(10)[0],
        "my commit": take(10, 10, 10),
        "their cards": take(10)[0],
        "their commit": take(10, 10, 10),
        "turn": take(3)[0],
        "scored": take(3)[0],
        "phase": take(3)[0],
        "asked": take(3)[0],
        "points": take(2)[0],
        "side": take(1)[0],
        "hands": take(1)[0],
    }


def ones(numbers: Sequence[float]) -> list[int]:
    assert set(numbers) <= {0.0, 1.0}
    return [place for place, number in enumerate(numbers) if number]
