"""Leduc poker: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.shared import shared_env

GAME = "leduc_poker"
FOLD, CALL, RAISE = range(3)
J0, J1, Q0, Q1, K0, K1 = range(6)
Start = Callable[..., Any]
KINDS = {"f": FOLD, "c": CALL, "r": RAISE}


def dealt(first: int, second: int, public: int, history: str = "") -> dict[str, Any]:
    return {"cards": [first, second], "public": public, "history": [KINDS[letter] for letter in history]}


def test_l1_the_start(start: Start) -> None:
    for seed in range(20):
        game = start(GAME, seed=seed)
        assert game.current_player == 0 and game.legal_actions() == [CALL, RAISE] and not game.terminated
        state = game.to_dict()
        assert state["history"] == [] and len({*state["cards"], state["public"]}) == 3


# actions so far, the player to move and the actions that are legal then
LEGAL = {
    "": (0, "cr"),
    "c": (1, "cr"),
    "r": (1, "fcr"),
    "cr": (0, "fcr"),
    "rr": (0, "fc"),
    "crr": (1, "fc"),
    "cc": (0, "cr"),
    "rc": (0, "cr"),
    "rrc": (0, "cr"),
    "crc": (0, "cr"),
    "crrc": (0, "cr"),
    "ccc": (1, "cr"),
    "crrccr": (0, "fcr"),
    "crrccrr": (1, "fc"),
}


@pytest.mark.parametrize("history", LEGAL)
def test_l2_l3_l4_legal_actions(start: Start, history: str) -> None:
    player, legal = LEGAL[history]
    played, read = start(GAME, dealt(J0, K0, Q0)), start(GAME, dealt(J0, K0, Q0, history))
    for letter in history:
        played.apply(KINDS[letter])
    for game in (played, read):
        assert game.current_player == player and game.legal_actions() == sorted(KINDS[x] for x in legal)
        assert not game.terminated and not game.truncated and game.rewards == [0, 0]
        assert game.to_dict() == dealt(J0, K0, Q0, history)
    with pytest.raises(ValueError, match=r"action \d is illegal"):
        played.apply(FOLD if "f" not in legal else RAISE if "r" not in legal else 3)


# what the first player gets with a king against a queen and a jack on the table
ENDS = {
    "rf": 1, "crf": -1, "rrf": -3, "crrf": 3, "ccrf": 1, "cccrf": -1, "rcrf": 3, "rrcrrf": -9, "crrccrrf": 9,
    "cccc": 1, "rccc": 3, "ccrc": 5, "rrcrrc": 13, "crrccrrc": 13, "crcrc": 7,
}  # fmt: skip


@pytest.mark.parametrize("history", ENDS)
@pytest.mark.parametrize("lower", (False, True))
def test_l5_ends(start: Start, history: str, lower: bool) -> None:
    """Check ends; an exchange of the cards changes only results that depend on them."""
    game = start(GAME, dealt(Q1, K1, J0) if lower else dealt(K1, Q1, J0))
    for letter in history:
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(KINDS[letter])
    worth = ENDS[history] * (-1 if lower and history[-1] == "c" else 1)
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [worth, -worth]


@pytest.mark.parametrize(
    ("first", "second", "public", "sign"),
    ((J0, K0, J1, 1), (K0, J0, J1, -1), (Q0, Q1, K0, 0), (Q0, J1, K0, 1), (K0, Q0, K1, 1), (J0, Q0, K1, -1)),
)
def test_l5_a_pair_beats_a_higher_card(start: Start, first: int, second: int, public: int, sign: int) -> None:
    game = start(GAME, dealt(first, second, public))
    for letter in "rccc":
        game.apply(KINDS[letter])
    assert game.terminated and game.rewards == [3 * sign, -3 * sign]


def test_l6_observation(start: Start) -> None:
    own, other, table = ([int(card == c) for card in range(6)] for c in (Q0, K1, J1))
    game = start(GAME, dealt(Q0, K1, J1, "cr"))
    actions = [1, 0, 0, 1] + [0] * 12
    assert game.observation(0) == [1, 0, *own, *[0] * 6, *actions]
    assert game.observation(1) == [0, 1, *other, *[0] * 6, *actions]
    game.apply(CALL)
    game.apply(RAISE)
    actions = [1, 0, 0, 1, 1, 0, 0, 0, 0, 1] + [0] * 6
    assert game.observation(0) == [1, 0, *own, *table, *actions]
    game.apply(FOLD)
    assert game.observation(1) == [0, 1, *other, *table, *actions]


def test_l6_what_a_player_does_not_see_is_not_drawn() -> None:
    env = te.make(GAME)
    for history, public, other in (("", "?", "?"), ("rc", "Jh", "?"), ("rccc", "Jh", "Kh"), ("rcrf", "Jh", "?")):
        text = env.to_string(env.state_from_dicts([dealt(Q0, K1, J1, history)]), 0, 0)
        assert text.startswith(f"Player 1: Qs public: {public} Player 2: {other};")


@pytest.mark.parametrize("history", ("f", "rrr", "ccf", "rfc", "ccccc"))
def test_l7_impossible_histories(start: Start, history: str) -> None:
    with pytest.raises(ValueError, match=r"action \d is illegal|history\[\d\] must be one of"):
        start(GAME, dealt(J0, K0, Q0, history))


@pytest.mark.parametrize(
    "wrong", (dealt(0, 0, 1), dealt(0, 6, 1), dealt(0, 1, 1), dealt(0, 1, 2) | {"history": [5]}), ids=str
)
def test_l7_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'leduc_poker': (cards|history)"):
        te.make(GAME).state_from_dicts([wrong])


def test_l3_names() -> None:
    assert [te.make(GAME).action_to_string(action) for action in range(3)] == ["fold", "call", "raise"]


def test_answers_in_a_players_words() -> None:
    env = shared_env("leduc_poker")
    start = env.init(1)
    after_a_raise = env.step(start, [2])
    assert [te.text.parse(env, answer, start) for answer in ("I check", "move: bet")] == [1, 2]
    for answer in ("check", "bet"):
        with pytest.raises(ValueError, match="answer must name a move"):
            te.text.parse(env, answer, after_a_raise)
