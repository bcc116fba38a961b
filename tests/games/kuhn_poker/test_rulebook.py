"""Kuhn poker: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te

GAME = "kuhn_poker"
JACK, QUEEN, KING = range(3)
PASS, BET = range(2)
Start = Callable[..., Any]


def dealt(first: int, second: int, *history: int) -> dict[str, Any]:
    return {"cards": [first, second], "history": list(history)}


def test_k1_k2_the_start(start: Start) -> None:
    deals = []
    for seed in range(40):
        game = start(GAME, seed=seed)
        assert game.current_player == 0 and game.legal_actions() == [PASS, BET] and not game.terminated
        assert game.to_dict()["history"] == []
        deals.append(tuple(game.to_dict()["cards"]))
    assert set(deals) == {(a, b) for a in range(3) for b in range(3) if a != b}


# actions, and what player 0 gets with the higher and with the lower card
GAMES = {
    (PASS, PASS): (1, -1),
    (BET, PASS): (1, 1),
    (BET, BET): (2, -2),
    (PASS, BET, PASS): (-1, -1),
    (PASS, BET, BET): (2, -2),
}


@pytest.mark.parametrize("history", GAMES, ids=str)
@pytest.mark.parametrize("cards", ((QUEEN, JACK), (KING, JACK), (KING, QUEEN)))
@pytest.mark.parametrize("lower", (False, True))
def test_k3_k4_every_game(start: Start, history: tuple[int, ...], cards: tuple[int, int], lower: bool) -> None:
    game = start(GAME, dealt(*cards[:: -1 if lower else 1]))
    for ply, action in enumerate(history):
        assert game.legal_actions() == [PASS, BET] and game.current_player == ply % 2
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(action)
    worth = GAMES[history][lower]
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [worth, -worth]
    assert game.to_dict() == dealt(*cards[:: -1 if lower else 1], *history)


def test_k5_observation(start: Start) -> None:
    game = start(GAME, dealt(KING, JACK, PASS, BET))
    assert game.observation(0) == [1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0]
    assert game.observation(1) == [0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    game.apply(BET)
    assert game.observation(1) == [0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1]


@pytest.mark.parametrize("history", ([PASS, PASS], [BET, BET]))
def test_k5_cards_are_shown_in_pictures_of_the_end(history: list[int]) -> None:
    env = te.make(GAME)
    for actions, hidden in (([], True), (history, False), ([BET, PASS], True)):
        state = env.state_from_dicts([dealt(KING, JACK, *actions)])
        assert ("Player 1: ?" in env.to_string(state, 0, 1)) == hidden
        assert (">K<" in env.render(state, 0, 1)) != hidden and ">K<" in env.render(state, 0, 0)
        assert "Player 1: K Player 2: J" in env.to_string(state)


@pytest.mark.parametrize("history", ([], [PASS], [BET], [PASS, BET], *map(list, GAMES)), ids=str)
def test_k6_the_end_is_read_off_the_history(start: Start, history: list[int]) -> None:
    game = start(GAME, dealt(QUEEN, KING, *history))
    assert game.terminated == (tuple(history) in GAMES) and game.to_dict() == dealt(QUEEN, KING, *history)


@pytest.mark.parametrize(
    "wrong", (dealt(0, 0), dealt(0, 3), dealt(0, 1, 2), dealt(0, 1, 0, 0, 0), {"cards": [0], "history": []}), ids=str
)
def test_k6_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'kuhn_poker': (cards|history)"):
        te.make(GAME).state_from_dicts([wrong])


def test_k2_names() -> None:
    assert [te.make(GAME).action_to_string(action) for action in (0, 1)] == ["pass", "bet"]
