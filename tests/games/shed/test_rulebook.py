"""Shed: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

Start = Callable[..., Any]
Cards = Sequence[int]


def position(
    own: Cards = (), other: Cards = (), pile: Cards = (), talon: Cards = (), player: int = 0
) -> dict[str, Any]:
    """Return a position with `player` to move, who holds the cards `own`."""
    hands = [list(own), list(other)] if player == 0 else [list(other), list(own)]
    return {"hands": hands, "pile": list(pile), "talon": list(talon), "current_player": player}


def plays(*cards: int) -> list[int]:
    """Return the actions that play these cards (G2)."""
    return [card - 1 for card in cards]


@pytest.mark.parametrize("cards", (1, 5, 10, 32))
def test_f1_all_cards_begin_in_the_talon(start: Start, cards: int) -> None:
    game = start("shed", cards=cards)
    assert game.to_dict() == position(talon=range(1, cards + 1))
    assert game.current_player == 0 and not game.terminated and not game.truncated
    assert game.legal_actions() == list(range(cards))  # F3: nothing to pick up yet


# position (6 cards), the cards that may be played, whether the pile may be picked up
LEGAL = {
    "F2-hand-and-talon": ({"own": [2, 4], "other": [5], "pile": [1], "talon": [3, 6]}, (2, 3, 4, 6), True),
    "F2-only-higher-cards": ({"own": [1, 3], "other": [5], "pile": [4], "talon": [2, 6]}, (6,), True),
    "F2-higher-than-every-card-of-the-pile": ({"own": [3, 4], "other": [6], "pile": [1, 2, 5]}, (), True),
    "F2-hand-alone": ({"own": [2, 4, 6], "other": [3], "pile": [1, 5]}, (6,), True),
    "F2-talon-alone": ({"other": [1, 2], "pile": [3], "talon": [4, 5, 6]}, (4, 5, 6), True),
    "F2-highest-card-down": ({"own": [1, 2], "other": [3], "pile": [6], "talon": [4, 5]}, (), True),
    "F3-empty-pile-hand": ({"own": [1, 5], "other": [2, 3, 4, 6]}, (1, 5), False),
    "F3-empty-pile-talon": ({"other": [2, 3, 6], "talon": [1, 4, 5]}, (1, 4, 5), False),
    "F3-empty-pile-both": ({"own": [6], "other": [1, 2, 3], "talon": [4, 5]}, (4, 5, 6), False),
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("case, cards, pick_up", LEGAL.values(), ids=LEGAL)
def test_legal_actions(start: Start, case: dict[str, Cards], cards: Cards, pick_up: bool, player: int) -> None:
    game = start("shed", position(**case, player=player), cards=6)
    assert game.legal_actions() == plays(*cards) + [6] * pick_up  # G2: action 6 picks up


# position (6 cards), the action, the position after it, in which the mover is the other player
MOVES = {
    "F2-from-hand": (
        {"own": [2, 4], "other": [5], "pile": [1], "talon": [3, 6]},
        3,
        {"own": [5], "other": [2], "pile": [1, 4], "talon": [3, 6]},
    ),
    "F2-from-talon": (
        {"own": [2, 4], "other": [5], "pile": [1], "talon": [3, 6]},
        2,
        {"own": [5], "other": [2, 4], "pile": [1, 3], "talon": [6]},
    ),
    "F2-pick-up": (
        {"own": [3], "other": [5], "pile": [1, 2, 4], "talon": [6]},
        6,
        {"own": [5], "other": [1, 2, 3, 4], "talon": [6]},
    ),
    "F2-pick-up-though-a-card-could-be-played": (
        {"other": [5], "pile": [1], "talon": [2, 3, 4, 6]},
        6,
        {"own": [5], "other": [1], "talon": [2, 3, 4, 6]},
    ),
    "F2-last-card-of-a-hand": (
        {"own": [6], "other": [2, 3, 4], "pile": [1, 5]},
        5,
        {"own": [2, 3, 4], "pile": [1, 5, 6]},
    ),
    "F4-all-cards-but-one-in-the-talon": (
        {"own": [2, 3, 4], "pile": [1, 5], "talon": [6]},
        6,
        {"other": [1, 2, 3, 4, 5], "talon": [6]},
    ),
    "F4-all-cards-but-one-in-the-other-hand": (
        {"own": [2, 3], "other": [4], "pile": [1, 5, 6]},
        6,
        {"own": [4], "other": [1, 2, 3, 5, 6]},
    ),
    "F4-all-cards-in-the-pile": ({"own": [6], "pile": [1, 2, 3, 4, 5]}, 5, {"pile": [1, 2, 3, 4, 5, 6]}),
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("before, action, after", MOVES.values(), ids=MOVES)
def test_moves(start: Start, before: dict[str, Cards], action: int, after: dict[str, Cards], player: int) -> None:
    game = start("shed", position(**before, player=player), cards=6)
    game.apply(action)
    assert game.to_dict() == position(**after, player=1 - player)
    assert game.current_player == 1 - player
    assert not game.terminated and not game.truncated and game.rewards == pytest.approx([0, 0])


# position of the loser (6 cards), who can only pick up
LOSSES = {
    "F4-hand-and-pile": {"own": [1, 2, 4], "pile": [3, 5, 6]},
    "F4-pile-alone": {"pile": [1, 2, 3, 4, 5, 6]},
    "F4-one-card": {"own": [1, 2, 3, 4, 5], "pile": [6]},
}


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("case", LOSSES.values(), ids=LOSSES)
def test_f4_holding_all_cards_loses(start: Start, case: dict[str, Cards], player: int) -> None:
    game = start("shed", position(**case, player=player), cards=6)
    assert game.legal_actions() == [6]
    game.apply(6)
    assert game.to_dict() == position(other=range(1, 7), player=1 - player)
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == pytest.approx([-1, 1] if player == 0 else [1, -1])  # G3


def test_f4_a_foolish_pick_up_loses(start: Start) -> None:
    """Check that a player who picks up everything loses, although the top card could be beaten."""
    game = start("shed", position(own=[4, 5, 6], pile=[1, 2, 3]), cards=6)
    assert game.legal_actions() == [*plays(4, 5, 6), 6]
    game.apply(6)
    assert game.terminated and game.rewards == pytest.approx([-1, 1])


@pytest.mark.parametrize("player", (0, 1))
def test_f4_finished_position_as_a_dictionary(start: Start, player: int) -> None:
    state = position(other=[1, 2, 3], player=player)
    game = start("shed", state, cards=3)
    assert game.terminated and not game.truncated and game.legal_actions() == [] and game.to_dict() == state


@pytest.mark.parametrize("player", (0, 1))
def test_f6_all_cards_and_the_move_is_a_win(start: Start, player: int) -> None:
    """Check that the game is not over: the cards are played from the lowest on, and each has to be picked up."""
    game = start("shed", position(own=[1, 2, 3, 4], player=player), cards=4)
    assert not game.terminated and game.legal_actions() == plays(1, 2, 3, 4)
    for card in range(1, 5):
        game.apply(card - 1)
        assert game.legal_actions() == [4]
        game.apply(4)
        assert bool(game.terminated) == (card == 4)
    assert game.rewards == pytest.approx([1, -1] if player == 0 else [-1, 1])


CYCLE = position(own=[2], other=[1, 3]), (1, 2, 3, 0, 2, 3)  # comes back to itself after six plies


def test_f5_g1_endless_play_is_truncated_as_a_draw_after_100_plies_a_card(start: Start) -> None:
    state, actions = CYCLE
    game = start("shed", state, cards=3)
    for ply in range(300):
        assert not game.truncated and game.legal_actions()
        game.apply(actions[ply % 6])
        assert game.rewards == pytest.approx([0, 0])
        if ply % 6 == 5:
            assert game.to_dict() == state
    assert game.truncated and not game.terminated and game.legal_actions() == []


@pytest.mark.parametrize("limit", (1, 6, 7))
def test_g1_max_plies(start: Start, limit: int) -> None:
    state, actions = CYCLE
    game = start("shed", state, cards=3, max_plies=limit)
    for ply in range(limit):
        assert not game.truncated
        game.apply(actions[ply % 6])
    assert game.truncated and not game.terminated
    assert game.rewards == pytest.approx([0, 0]) and game.legal_actions() == []


@pytest.mark.parametrize("limit, truncated", ((2, False), (1, True)))
def test_g1_an_end_by_the_rules_goes_before_the_limit(start: Start, limit: int, truncated: bool) -> None:
    """Check the only game with one card: it is played, and must be picked up."""
    game = start("shed", cards=1, max_plies=limit)
    assert game.legal_actions() == [0]
    game.apply(0)
    if not truncated:
        assert game.legal_actions() == [1]
        game.apply(1)
    assert bool(game.truncated) == truncated and bool(game.terminated) != truncated
    assert game.rewards == pytest.approx([0, 0] if truncated else [1, -1]) and game.legal_actions() == []


@pytest.mark.parametrize("cards", (-1, 0, 33))
def test_g2_impossible_number_of_cards(start: Start, cards: int) -> None:
    with pytest.raises(ValueError, match=r"need 1 to 32 cards|cards must be in 1..32"):
        start("shed", cards=cards, max_plies=10)


def test_g2_the_highest_of_32_cards(start: Start) -> None:
    state = position(own=[32], other=[1], pile=[31], talon=range(2, 31), player=1)
    game = start("shed", state, cards=32)
    assert game.legal_actions() == [31, 32]
    game.apply(31)
    assert game.legal_actions() == [32]
    game.apply(32)
    assert game.to_dict() == position(other=[1, 31, 32], talon=range(2, 31), player=1)


@pytest.mark.parametrize("player", (0, 1))
def test_g3_observation(start: Start, player: int) -> None:
    game = start("shed", position(own=[2, 4], other=[5], pile=[1, 3], talon=[6], player=player), cards=6)
    own, other, pile, talon = [0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]
    assert game.observation(player) == [own, other, pile, talon]
    assert game.observation(1 - player) == [other, own, pile, talon]


def test_g4_cards_are_sorted(start: Start) -> None:
    """Check that the order of the given cards does not matter."""
    game = start("shed", cards=4)
    for action in (*plays(2, 3), 4, *plays(1, 4), 4):
        game.apply(action)
    assert game.to_dict() == {"hands": [[2, 3], [1, 4]], "pile": [], "talon": [], "current_player": 0}
