"""Gin rummy: the rules as worked cases, played on every engine of the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.gin_rummy.notation import meld_cards
from tensor_envs.games.gin_rummy.rules import GinRummy
from tensor_envs.rules import int32

GAME = "gin_rummy"
Start = Callable[..., Any]
DECK = [rank + suit for suit in "scdh" for rank in "A23456789TJQK"]
UPCARD, STOCK, PASS, KNOCK, FIRST_MELD = range(52, 57)
KNOCKING = "As 2s 3s 4s 5s 7c 8c 9c 6d 4h"  # two runs, and a deadwood of 10
OTHER = "6s Ac 2c Tc Jd Kd 7h 9h Jh Qh"
OTHER_LOW = "6s 2c Jc Kc 6d Jd Kd 7h 9h Qh"
OTHER_HIGH = "4s 8s Ts As 3c 5d 8d 2h Jh Kh"


def table(first: str = KNOCKING, second: str = OTHER, phase: str = "draw", **fields: Any) -> dict[str, Any]:
    """Return a dictionary with two hands; all other cards but an upcard are in the stock unless fields say more."""
    has_upcard = phase in ("first upcard", "second upcard", "first stock", "draw", "wall")
    state: dict[str, Any] = {
        "hands": [ordered(first), ordered(second)], "known": [[], []], "upcard": "Qs" if has_upcard else "",
        "discards": [], "laid": [[], []], "layoffs": [], "phase": phase, "current_player": 0, "taken": "",
        "returned": False, "upcards": 0, "knock_card": 10, "ply": 9,
    }  # fmt: skip
    return state | fields


def ordered(cards: str) -> list[str]:
    return sorted(cards.split(), key=DECK.index)


def names(game: Any) -> list[str]:
    """Return the legal actions by their names."""
    env = te.make(GAME)
    return [env.action_to_string(action) for action in game.legal_actions()]


def play(game: Any, text: str) -> Any:
    """Play actions, by their names, that commas separate."""
    env = te.make(GAME)
    for name in text.split(", "):
        game.apply(env.string_to_action(name))
    return game


def rest(*cards: str, keep: int = 2) -> list[str]:
    """Return the cards that a discard pile has if the stock has `keep` others than those in some strings."""
    used = {name for text in cards for name in text.split()}
    return [name for name in DECK if name not in used][keep:]


def test_g1_g2_the_deal(start: Start) -> None:
    game = start(GAME, seed=3)
    state = game.to_dict()
    assert [len(hand) for hand in state["hands"]] == [10, 10] and state["upcard"] in DECK
    assert len({*state["hands"][0], *state["hands"][1], state["upcard"]}) == 21
    assert (state["phase"], game.current_player, state["discards"]) == ("first upcard", 0, [])


def test_g3_names() -> None:
    env = te.make(GAME)
    assert env.num_actions == 241
    expected = {0: "As", 51: "Kh", 52: "Draw upcard", 53: "Draw stock", 54: "Pass", 55: "Knock"}
    expected |= {56: "AcAdAh", 60: "AsAcAdAh", 120: "KsKcKdKh", 121: "As2s3s", 165: "As2s3s4s", 240: "9hThJhQhKh"}
    assert {action: env.action_to_string(action) for action in expected} == expected


def test_g3_melds_have_the_cards_of_their_names() -> None:
    rules = GinRummy()
    cards = [int(rules.cards_of(int32(action)).value) for action in range(rules.first_meld, rules.actions.count)]
    assert cards == [*meld_cards().values()] and len({*cards}) == 185


def test_g4_the_first_upcard(start: Start) -> None:
    game = start(GAME, table(phase="first upcard", ply=0))
    assert names(game) == ["Draw upcard", "Pass"]
    play(game, "Pass")
    assert (game.current_player, names(game)) == (1, ["Draw upcard", "Pass"])
    play(game, "Pass")
    assert (game.current_player, names(game)) == (0, ["Draw stock"])
    play(game, "Draw stock")
    assert (game.to_dict()["discards"], len(game.to_dict()["hands"][0])) == (["Qs"], 11)
    taken = play(start(GAME, table(phase="second upcard", current_player=1, ply=1)), "Draw upcard")
    assert (taken.to_dict()["taken"], taken.to_dict()["known"], taken.to_dict()["upcards"]) == ("Qs", [[], ["Qs"]], 0)
    assert len(names(taken)) == 11 and taken.current_player == 1


def test_g5_a_turn(start: Start) -> None:
    game = play(start(GAME, table()), "Draw upcard, 6d")
    state = game.to_dict()
    assert (state["upcard"], state["known"], state["upcards"]) == ("6d", [["Qs"], []], 1)
    assert (state["phase"], game.current_player, state["returned"]) == ("draw", 1, False)
    play(game, "Draw stock")
    assert game.to_dict()["discards"] == ["6d"] and game.to_dict()["upcard"] == ""


def test_g6_upcards_that_both_return(start: Start) -> None:
    game = play(start(GAME, table()), "Draw upcard, Qs")
    assert (game.to_dict()["returned"], game.to_dict()["known"]) == (True, [[], []])
    play(game, "Draw upcard, Qs")
    assert game.terminated and game.rewards == [0, 0]
    game = play(start(GAME, table()), "Draw upcard, Qs, Draw upcard, 6s, Draw upcard, 6s")
    assert not game.terminated and game.to_dict()["returned"]


def test_g6_the_last_upcard(start: Start) -> None:
    game = play(start(GAME, table(upcards=48)), "Draw upcard, 6d")
    assert not game.terminated
    play(game, "Draw upcard")
    assert game.terminated and game.to_dict()["upcard"] == "6d" and game.rewards == [0, 0]


def test_g6_the_wall(start: Start) -> None:
    discards = rest(KNOCKING, OTHER, "Qs", keep=3)
    game = play(start(GAME, table(discards=discards)), "Draw stock, 6d")
    assert (game.to_dict()["phase"], names(game), game.current_player) == ("wall", ["Pass"], 1)
    play(game, "Pass")
    assert game.terminated and game.rewards == [0, 0]
    discards = rest(KNOCKING, OTHER, "Ah")
    game = start(GAME, table(phase="wall", upcard="Ah", discards=discards))
    assert names(game) == ["Pass", "Knock"]
    play(game, "Knock")
    assert "Ah" in game.to_dict()["hands"][0] and game.to_dict()["taken"] == ""


def test_g7_a_knock_and_its_discard(start: Start) -> None:
    """With a queen the deadwood is 10 after its discard; that of the five leaves 15, and that of the four 16."""
    game = start(GAME, table(f"{KNOCKING} Qc", phase="discard"))
    assert "Knock" in names(game)
    play(game, "Knock")
    assert names(game) == ["Qc"]
    play(game, "Qc")
    state = game.to_dict()
    assert (state["discards"], state["upcard"], state["phase"], game.current_player) == (["Qc"], "", "meld", 0)
    assert "Knock" not in names(start(GAME, table("As 2s 3s 4s 5s 7c 8c 9c 6d 5h Qc", phase="discard")))


def test_g7_a_knock_that_openspiel_misses(start: Start) -> None:
    """A set of threes leaves 3 points, ace and two, as the runs do, which leave a three: its discard is gin."""
    hand = "3s 3c 4c 5c 6c Td Jd Qd Ah 2h 3h"
    game = start(GAME, table(hand, "7s Ac 2c Tc Kd Kh 7h 9h Jh Qh", "discard", knock_card=0), knock_card=0)
    assert "Knock" in names(game)
    assert names(play(game, "Knock")) == ["3s"]


def test_g8_melds_keep_the_deadwood_low(start: Start) -> None:
    """A set of aces would leave 2s and 3s."""
    hand = "As 2s 3s Ac Ad 7c 8c 9c Tc 5h"
    game = start(GAME, table(hand, OTHER_LOW, "meld", knock_card=8, discards=["Qc"]), knock_card=8)
    assert names(game) == ["As2s3s", "7c8c9cTc"]
    play(game, "7c8c9cTc")
    assert names(game) == ["As2s3s"] and game.to_dict()["laid"] == [["7c8c9cTc"], []]
    play(game, "As2s3s")
    assert names(game) == ["Pass"] and game.to_dict()["hands"][0] == ["Ac", "Ad", "5h"]
    play(game, "Pass")
    assert (game.to_dict()["phase"], game.current_player) == ("layoff", 1)


def test_g9_cards_that_are_laid_off(start: Start) -> None:
    """The third card beyond an end of a run is not laid off: three of them are a run."""
    laid = [["5s6s7s", "KsKcKd"], []]
    second = "3s 4s 8s 9s Ts 9c 7d Jd 5h Kh"
    game = start(GAME, table("As 2c 2d 3h", second, "layoff", laid=laid, current_player=1, discards=["Qs"]))
    assert names(game) == ["4s", "8s", "Kh", "Pass"]
    assert names(play(game, "8s")) == ["4s", "9s", "Kh", "Pass"]
    assert names(play(game, "9s")) == ["4s", "Kh", "Pass"]
    assert names(play(game, "4s, Kh")) == ["3s", "Pass"] and game.current_player == 1
    play(game, "Pass")
    state = game.to_dict()
    assert (state["layoffs"], state["phase"]) == (["4s", "8s", "9s", "Kh"], "answer")
    assert state["hands"][1] == ["3s", "Ts", "9c", "7d", "Jd", "5h"] and names(game) == ["Pass"]


def test_g9_nothing_is_laid_off_on_gin(start: Start) -> None:
    laid = [["8c9cTcJc", "2c2d2h"], []]
    game = start(GAME, table("5s 6s 7s", "8s Ac 3c Kc Jd Kd 7h 9h Jh Qh", "meld", laid=laid, discards=["Qs"]))
    play(game, "5s6s7s, Pass")
    assert (game.to_dict()["phase"], game.current_player, names(game)) == ("answer", 1, ["Pass"])


def test_g10_the_opponent_lays_any_melds(start: Start) -> None:
    laid = [["5s6s7s", "KsKcKd"], []]
    second = "Ac 2c 3c 4c 7c 7d 7h 9h Jh Qh"
    game = start(GAME, table("As 2d 2h 3h", second, "answer", laid=laid, current_player=1, discards=["Qs"]))
    assert names(game) == ["Pass", "7c7d7h", "Ac2c3c", "2c3c4c", "Ac2c3c4c"]
    assert names(play(game, "2c3c4c")) == ["Pass", "7c7d7h"]
    play(game, "Pass")  # without the sevens
    assert game.terminated and game.rewards == [41 + 10 - 8, -43]


def test_g10_a_run_of_ten_has_most_melds(start: Start) -> None:
    laid = [["5s6s7s", "KsKcKh"], []]
    second = "Ad 2d 3d 4d 5d 6d 7d 8d 9d Td"
    game = start(GAME, table("As 2c 2h 3h", second, "answer", laid=laid, current_player=1, discards=["Qs"]))
    assert len(game.legal_actions()) == 22 == te.make(GAME).spec.max_legal


@pytest.mark.parametrize(
    ("first", "laid", "second", "layoffs", "fields", "points"),
    [
        ("As 2c 2d 3h", "5s6s7s KsKcKd", "Ac 4h 5h Qc", "", {}, 20 - 8),
        ("As 2c 2d 3h", "5s6s7s KsKcKd", "Ac Ad 3c", "Kh", {}, -3 - 25),
        ("As 2c 2d 3h", "5s6s7s KsKcKd", "Ac Ad 3c", "Kh", {"undercut_bonus": 4}, -3 - 4),
        ("As 2c 2d 3h", "5s6s7s KsKcKd", "Ac 3c 4h", "Kh", {}, 0),
        ("", "5s6s7s KsKcKd 2c3c4c5c", "Ac 4h 5h Qc", "", {}, 20 + 25),
        ("", "5s6s7s KsKcKd 2c3c4c5c", "Ac 4h 5h Qc", "", {"gin_bonus": 0}, 20),
    ],
)
def test_g11_the_result(start: Start, first: str, laid: str, second: str, layoffs: str, fields: dict[str, int],
                        points: int) -> None:  # fmt: skip
    state = table(
        first, second, "answer", laid=[laid.split(), ["7c8c9c", "9dTdJd"]], layoffs=layoffs.split(), current_player=1,
        discards=["Qs"],
    )  # fmt: skip
    game = play(start(GAME, state, **fields), "Pass")
    assert game.terminated and game.rewards == [points, -points] and game.to_dict()["phase"] == "over"


def test_g12_fields() -> None:
    impossible: list[tuple[dict[str, Any], str]] = [
        ({"knock_card": 11}, r"knock_card must be in 0\.\.10, got 11"),
        ({"gin_bonus": -1}, r"gin_bonus must be in 0\.\.1000, got -1"),
        ({"undercut_bonus": 1001}, r"undercut_bonus must be in 0\.\.1000, got 1001"),
    ]
    for fields, message in impossible:
        with pytest.raises(ValueError, match=message):
            GinRummy(**fields)
    others: list[dict[str, Any]] = [{"knock_card": 2.0}, {"oklahoma": 1}, {"gin_bonus": "5"}]
    for fields in others:
        with pytest.raises(TypeError, match=r"must be (an int|of type bool), got"):
            GinRummy(**fields)


def test_g12_oklahoma(start: Start) -> None:
    values = {}
    for seed in range(40):
        state = start(GAME, seed=seed, oklahoma=True).to_dict()
        values[state["upcard"][0]] = state["knock_card"]
    expected = {"A": 0, "T": 10, "J": 10, "Q": 10, "K": 10} | {str(n): n for n in range(2, 10)}
    assert values.items() <= expected.items() and "A" in values and len(values) > 8


def test_g14_hands_are_open_after_a_knock() -> None:
    env = te.make(GAME)
    known = [[], ["Jd"]]

    def hands(player: int, phase: str, first: str = KNOCKING, **fields: Any) -> list[bool]:
        """Return whether a player sees each hand."""
        state = env.state_from_dicts([table(first, phase=phase, known=known, **fields)])
        shown = env.state_to_dict(state, 0, player)["hands"]
        return ["XX" not in hand for hand in shown]

    eleven = f"{KNOCKING} Qc"
    assert hands(0, "draw") == [True, False] and hands(1, "draw") == [False, True]
    assert hands(0, "knock", eleven) == [True, False] and hands(1, "knock", eleven) == [True, True]
    laid = [["As2s3s", "7c8c9c"], []]
    fields: dict[str, Any] = {"first": "4c 3h Ah 2d", "laid": laid, "current_player": 1, "discards": ["Qs"]}
    assert hands(0, "layoff", **fields) == hands(1, "layoff", **fields) == [True, True]
    shown = env.state_to_dict(env.state_from_dicts([table(known=known)]), 0, 0)["hands"][1]
    assert shown == ["Jd"] + ["XX"] * 9


LAID = [["As2s3s", "7c8c9c"], []]
LOW = "4c 2d Ah 3h"
WRONG: list[tuple[dict[str, Any], str]] = [
    (table(phase="none"), "phase must be one of"),
    (table(upcard="Xs"), "upcard and taken must be cards such as 'Td', or '', got"),
    (table(upcard="", discards=["Qs"]), "upcard must be a card in the phase 'draw', got -1"),
    (table(upcard="As"), "As must be in one place, got it in several"),
    (table(discards=["Qs"]), "Qs must be in one place"),
    (table("As 2s"), "hands must have 10 and 10 cards with melds and layoffs in the phase 'draw', got"),
    (table(phase="discard"), "hands must have 11 and 10 cards"),
    (table(hands=[[]]), "hands must have a list for each of two players"),
    (table(known=[["Qc"], []]), "known must be cards in hand"),
    (table(discards=rest(KNOCKING, OTHER, "Qs")), "stock must have 3 to 31 cards in the phase 'draw', got 2"),
    (table(phase="wall"), "stock must have 2 to 2 cards in the phase 'wall', got 31"),
    (table(phase="second upcard"), "current_player must be the one whose turn it is"),
    (table(phase="first stock", current_player=1), "current_player must be the one whose turn it is"),
    (table(taken="Ks"), "taken must be empty or a known card of the player"),
    (table(f"{KNOCKING} Qs", phase="discard", taken="Qs"), "taken must be empty or a known card of the player"),
    (table(LOW, laid=LAID), "laid must be empty before a knock"),
    (table(LOW, OTHER, "meld", laid=LAID, current_player=1, discards=["Qs"]), "laid must be empty for the opponent"),
    (table(phase="layoff", discards=["Qs"]), "laid must have melds"),
    (table(laid=[["As2s"], []]), "laid\\[0\\] must be at most 3 melds such as 'AsAcAd', got"),
    (table(second=OTHER[3:], layoffs=["6s"], current_player=1), "layoffs must be empty before melds are laid"),
    (table(laid=[["As2s3s", "4s5s6s", "7s8s9s", "7c8c9c"], []]), "laid\\[0\\] must be at most 3 melds"),
    (table(discards=["XX"]), "discards must be cards such as 'Td', got"),
    (table(knock_card=9), "knock_card must be 10"),
    (
        table("Ks Qc Jc Th", OTHER, "answer", laid=LAID, current_player=1, discards=["Qs"]),
        "hands must have little deadwood",
    ),
    (table(f"{OTHER_LOW} Qc", OTHER_HIGH, "knock"), "hands must allow a knock"),
]


@pytest.mark.parametrize(("state", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_g15_wrong_dictionaries(state: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME).state_from_dicts([state])


def test_g15_wrong_types() -> None:
    wrong: list[tuple[str, Any]] = [("hands", 5), ("hands", [5, 5]), ("returned", 1), ("upcard", 5), ("upcards", 0.5)]
    for field, value in wrong:
        with pytest.raises(ValueError, match=rf"{field}.* must be (an int|of type)"):
            te.make(GAME).state_from_dicts([table() | {field: value}])


def test_the_result_as_text() -> None:
    env = te.make(GAME)
    laid = [["5s6s7s", "KsKcKd"], ["7c8c9c", "9dTdJd"]]
    fields: dict[str, Any] = {"laid": laid, "current_player": 1, "discards": ["Qs"]}
    for second, layoffs, result in (
        ("Ac 4h 5h Qc", [], "Player 1 wins 12: a knock, with a deadwood of 8 against 20"),
        ("Ac Ad 3c", ["Kh"], "Player 2 wins 28: an undercut, with a deadwood of 8 against 5"),
        ("Ac 3c 4h", ["Kh"], "a draw: a knock, with a deadwood of 8 against 8"),
    ):
        state = env.state_from_dicts([table("As 2c 2d 3h", second, "over", layoffs=layoffs, **fields)])
        assert env.to_string(state).splitlines()[-1] == result
    assert env.to_string(env.state_from_dicts([table(phase="over", upcard="Qs")])).endswith(
        "a draw: nobody has knocked"
    )
