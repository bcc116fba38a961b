"""Hanabi: the rules as worked cases, played on every engine of the game."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.hanabi.notation import card_names
from tensor_envs.games.hanabi.rules import Hanabi
from tensor_envs.rules import int32, popcount
from tensor_envs.rules.chance import KeyedChance
from tensor_envs.rules.lists import flat

GAME = "hanabi"
Start = Callable[..., Any]
# two players, two colours of three ranks, two cards each: discards 0-1, plays 2-3, colours 4-5, ranks 6-8
SMALL: dict[str, Any] = {"colors": 2, "ranks": 3, "hand_size": 2}
NEW = "XX|RY123"


def table(*hands: str, deck: bool = True, **fields: Any) -> dict[str, Any]:
    """Return a dictionary of a small game with hands such as "R1 Y2:X2|RY2", a card with what hints told of it."""
    state: dict[str, Any] = {
        "hands": [[" || ".join(f"{card}:{NEW}".split(":")[:2]) for card in hand.split()] for hand in hands],
        "fireworks": [0, 0], "discards": [], "information_tokens": 8, "life_tokens": 3, "turns": len(hands),
        "current_player": 0, "last_action": -1, "last_card": "", "scored": False, "regained": False, "ply": 2,
    }  # fmt: skip
    return state | fields


def names(game: Any) -> list[list[str]]:
    return [[text[:2] for text in hand] for hand in game.to_dict()["hands"]]


def hints(game: Any, player: int) -> list[str]:
    return [text.partition(" || ")[2] for text in game.to_dict()["hands"][player]]


def test_h1_h2_the_start(start: Start) -> None:
    game = start(GAME, seed=3)
    state = game.to_dict()
    assert [len(hand) for hand in state["hands"]] == [5, 5] and game.current_player == 0
    assert {text[2:] for hand in state["hands"] for text in hand} == {" || XX|RYGWB12345"}
    assert (state["fireworks"], state["discards"], state["turns"]) == ([0] * 5, [], 2)
    assert (state["information_tokens"], state["life_tokens"]) == (8, 3)


def test_h3_legal_actions(start: Start) -> None:
    """Tokens that are all there forbid discards, and none forbid hints; a hint must touch a card."""
    assert start(GAME, table("R1 Y2", "R3 R1"), **SMALL).legal_actions() == [2, 3, 4, 6, 8]
    assert start(GAME, table("R1 Y2", "R3 R1", information_tokens=7), **SMALL).legal_actions() == [0, 1, 2, 3, 4, 6, 8]
    assert start(GAME, table("R1 Y2", "R3 R1", information_tokens=0), **SMALL).legal_actions() == [0, 1, 2, 3]
    three = table("R1 Y2", "R3 R1", "Y1 Y1", current_player=1)
    actions = [2, 3, *(4 + 1,), *(6, 7), *(8 + 0,), *(11, 12)]
    assert start(GAME, three, players=3, **SMALL).legal_actions() == actions


def test_h4_h6_a_discard_and_the_new_card(start: Start) -> None:
    game = start(GAME, table("R1 Y2:X2|RY2", "R3 R1", information_tokens=2), **SMALL)
    game.apply(0)
    state = game.to_dict()
    assert state["discards"] == ["R1"] == [state["last_card"]] and state["information_tokens"] == 3
    assert names(game)[0][0] == "Y2" and hints(game, 0) == ["X2|RY2", NEW]  # Y2 has moved down
    assert game.rewards == [0, 0] and game.current_player == 1


@pytest.mark.parametrize(
    ("hand", "fireworks", "tokens", "after", "reward", "scored", "regained"),
    [
        ("R1", [0, 0], 5, (5, 3), 1, True, False),
        ("R2", [0, 0], 5, (5, 2), 0, False, False),
        ("R2", [1, 0], 5, (5, 3), 1, True, False),
        ("R1", [1, 0], 5, (5, 2), 0, False, False),
        ("Y3", [0, 2], 5, (6, 3), 1, True, True),
        ("Y3", [0, 2], 8, (8, 3), 1, True, False),
        ("Y1", [3, 0], 5, (5, 3), 1, True, False),
    ],
)
def test_h5_plays(start: Start, hand: str, fireworks: list[int], tokens: int, after: tuple[int, int], reward: int,
                  scored: bool, regained: bool) -> None:  # fmt: skip
    game = start(GAME, table(f"Y1 {hand}", "R2 Y1", fireworks=fireworks, information_tokens=tokens), **SMALL)
    game.apply(3)
    state = game.to_dict()
    assert (state["information_tokens"], state["life_tokens"]) == after and game.rewards == [reward] * 2
    assert (state["scored"], state["regained"], state["last_card"]) == (scored, regained, hand)
    assert sum(state["fireworks"]) == sum(fireworks) + reward and state["discards"] == [hand] * (1 - reward)


def test_h7_hints(start: Start) -> None:
    """A hint tells of all cards; a card that is touched by no hint has only what hints exclude."""
    game = start(GAME, table("R1 Y2", "R3 Y3"), **SMALL)
    game.apply(4)
    assert hints(game, 1) == ["RX|R123", "XX|Y123"] and game.to_dict()["information_tokens"] == 7
    game.apply(6)  # Seat 1 tells of ranks 1
    assert hints(game, 0) == ["X1|RY1", "XX|RY23"]
    game.apply(8)
    assert hints(game, 1) == ["R3|R3", "X3|Y3"]  # the yellow one was never named


def test_h8_h9_a_lost_game_returns_nothing(start: Start) -> None:
    for config, reward in (({}, -3), ({"keep_score": True}, 0)):
        game = start(GAME, table("R3 Y2", "R1 Y3", fireworks=[2, 1], life_tokens=1), **SMALL, **config)
        game.apply(3)
        assert not game.terminated and game.rewards == [1, 1]  # Y2
        game = start(GAME, table("R1 Y2", "R1 Y3", fireworks=[2, 1], life_tokens=1), **SMALL, **config)
        game.apply(2)
        assert game.terminated and game.rewards == [reward] * 2 and game.legal_actions() == []
        assert names(game)[0] == ["Y2"]  # no card is drawn


def test_h8_all_fireworks(start: Start) -> None:
    game = start(GAME, table("R3 Y2", "R1 Y1", fireworks=[2, 3]), **SMALL)
    game.apply(2)
    assert game.terminated and game.rewards == [1, 1] and names(game)[0] == ["Y2"]


def test_h9_the_last_turns(start: Start) -> None:
    """Of twelve copies five are discarded and one was played: each hand has two, the deck one."""
    gone = ["R1", "R1", "R2", "Y1", "Y1", "Y2"]
    game = start(GAME, table("R3 Y2", "Y1 R2", discards=gone, fireworks=[1, 0], information_tokens=3), **SMALL)
    assert game.to_dict()["turns"] == 2
    game.apply(1)  # draws Y3, the last card
    assert names(game)[0] == ["R3", "Y3"] and not game.terminated and game.to_dict()["turns"] == 2
    game.apply(3)
    assert names(game)[1] == ["Y1"] and game.rewards == [1, 1] and game.to_dict()["turns"] == 1
    assert hints(game, 1) == [NEW] and not game.terminated
    game.apply(2)
    assert game.terminated and game.rewards == [1, 1] and game.to_dict()["fireworks"] == [3, 0]


def test_h10_fields() -> None:
    assert [Hanabi(players=n).hand_size for n in (2, 3, 4, 5)] == [5, 5, 4, 4]
    impossible: list[tuple[dict[str, Any], str]] = [
        ({"players": 1}, r"players must be in 2\.\.5, got 1"),
        ({"hand_size": 6}, r"hand_size must be in 1\.\.5, got 6"),
        ({"colors": 1, "ranks": 2}, "hand_size must be at most 2 here, got 5"),
        ({"colors": 1, "ranks": 1}, "colors and ranks must give two different cards or more"),
        ({"life_tokens": 0}, r"life_tokens must be in 1\.\.31, got 0"),
    ]
    for fields, message in impossible:
        with pytest.raises(ValueError, match=message):
            Hanabi(**fields)
    others: list[dict[str, Any]] = [{"colors": 2.0}, {"keep_score": 1}, {"hand_size": "5"}]
    for fields in others:
        with pytest.raises(TypeError, match=r"must be (an int|of type bool), got"):
            Hanabi(**fields)


class Listed:
    """Chance whose first draws are listed; all further ones give 0. It notes the numbers of values."""

    def __init__(self, values: list[int]) -> None:
        self.values, self.sizes = values, list[int]()

    def bits(self, counter: Any) -> Any:
        raise NotImplementedError

    def draw(self, counter: Any, n: Any) -> Any:
        self.sizes.append(int(n.value))
        return int32(self.values[len(self.sizes) - 1] if len(self.sizes) <= len(self.values) else 0)


def odds(sample: Callable[[Listed], Any]) -> dict[Any, Fraction]:
    """Return the probability of every result of a function of chance, by all values of its draws."""
    found, values = dict[Any, Fraction](), list[int]()
    while True:
        chance = Listed(values)
        result = sample(chance)
        found[result] = found.get(result, Fraction(0)) + Fraction(1, prod(chance.sizes))
        values += [0] * (len(chance.sizes) - len(values))
        while values and values[-1] + 1 == chance.sizes[len(values) - 1]:
            values.pop()
        if not values:
            return found
        values[-1] += 1


def test_h12_cards_of_a_hand_depend_on_each_other() -> None:
    """Of the first card it is known that it is a 1, of the second that it is red; hidden are R1 twice, R2 and Y1.

    With Y1 first there are three red cards for the second place, with either R1 two: seven hands.
    """
    rules = Hanabi(**SMALL)
    state = table("R1:X1|RY1 R2:RX|R123", "Y1 Y3", discards=["R1", "R2", "R3", "Y1", "Y2", "Y2"])
    s = te.debug(te.make(GAME, **SMALL), game=state).state

    def hand(chance: Listed) -> tuple[str, ...]:
        again = rules.determinize(s, int32(0), chance)
        assert again.hands[1] == s.hands[1] and again.replace(hands=s.hands, deck=s.deck).asdict() == s.asdict()
        return tuple(card_names(rules)[int(card.value)] for card in again.hands[0])

    counts = {("R1", "R1"): 2, ("R1", "R2"): 2, ("Y1", "R1"): 2, ("Y1", "R2"): 1}
    assert odds(hand) == {cards: Fraction(n, 7) for cards, n in counts.items()}


def test_h12_the_deck_has_what_the_hand_has_not() -> None:
    """In the last turns a hand may have a card less, which stays so, and the deck is empty."""
    rules = Hanabi(**SMALL)
    gone = ["R1", "R1", "R1", "R2", "R2", "R3", "Y1", "Y1", "Y1"]
    s = te.debug(te.make(GAME, **SMALL), game=table("Y2", "Y3 Y2", discards=gone, turns=1)).state
    deals = odds(lambda chance: tuple(x.value for x in flat(rules.determinize(s, int32(1), chance).hands)))
    assert deals == {(4, 6, 5, 4): Fraction(1, 2), (4, 6, 4, 5): Fraction(1, 2)}
    assert odds(lambda chance: rules.determinize(s, int32(0), chance).hands[0][1].value) == {6: Fraction(1)}
    opened = te.debug(te.make(GAME, **SMALL), game=table("R1 Y2:X2|RY2", "R3 R1")).state
    hands = {all_cards(rules, rules.determinize(opened, int32(0), KeyedChance((0, key)))) for key in range(20)}
    assert len(hands) > 5 and {tuple(sorted(cards)) for cards in hands} == {tuple(sorted(all_cards(rules, opened)))}


def all_cards(rules: Hanabi, s: te.GameState) -> tuple[int, ...]:
    """Return the cards in the hands and in the deck."""
    deck = [rules.drawn(s.deck, int32(k))[0] for k in range(int(popcount(s.deck).value))]
    return tuple(int(card.value) for card in [*flat(s.hands), *deck])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"hands": [["R1 || XX|RY123"] * 2] * 3}, "hands must be 2 lists"),
    ({"hands": [["R1 || XX|RY123"] * 2, ["R1 || XX|RY123"] * 2]}, "too many cards R1"),
    ({"hands": [["R1 || XX|RY123"], ["R1 || XX|RY123"] * 2]}, "hands must have 2 cards and turns be 2 while"),
    ({"hands": [["R1 || XX|Y123"] * 2, ["R1 || XX|RY123"] * 2]}, "a card in a hand must be like"),
    ({"hands": [["R1 || RX|RY123"] * 2, ["R1 || XX|RY123"] * 2]}, "a card in a hand must be like"),
    ({"hands": [["XX || XX|RY123"] * 2, ["R1 || XX|RY123"] * 2]}, "a card in a hand must be like"),
    ({"hands": [5, 5]}, "each hand must be of type list"),
    ({"hands": [[5, 5], [5, 5]]}, "a card in a hand must be of type str"),
    ({"turns": 1}, "hands must have 2 cards and turns be 2 while"),
    ({"discards": ["B1"]}, "an entry of discards must be one of"),
    ({"fireworks": [4, 0]}, r"fireworks\[0\] must be in 0\.\.3"),
    ({"last_card": "XX"}, "last_card must be one of"),
    ({"scored": 1}, "scored must be of type bool"),
    ({"last_card": "R1"}, "last_card must be \"\" without one, got 'R1' with last_action -1"),
    ({"last_action": 0}, "last_card must be that of the last discard or play, got '' with last_action 0"),
    ({"last_action": 0, "last_card": "Y1"}, "last_card must be among discards unless it has scored, got 'Y1'"),
    ({"scored": True}, "scored must be False unless the last action is a play"),
    (
        {"last_action": 2, "last_card": "Y1", "scored": True},
        "scored must be False unless last_card is the last of its fireworks, got True with Y1",
    ),
    ({"regained": True}, "regained must be False unless a card of rank 3 has scored"),
    (
        {"last_action": 2, "last_card": "Y1", "scored": True, "regained": True, "fireworks": [0, 1]},
        "regained must be False unless a card of rank 3 has scored, got True with last_card 'Y1' and scored True",
    ),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_h13_wrong_dictionaries(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, **SMALL).state_from_dicts([table("R1 Y2", "R3 R1", **fields)])


def test_h13_a_hand_is_hidden_from_its_owner_until_the_end() -> None:
    env = te.make(GAME, **SMALL)
    state = env.state_from_dicts([table("R1:X1|RY1 Y2", "R3 R1", life_tokens=1)])
    assert env.state_to_dict(state, 0, 0)["hands"] == [
        ["XX || X1|RY1", f"XX || {NEW}"],
        [f"R3 || {NEW}", f"R1 || {NEW}"],
    ]
    assert "R1 || X1|RY1" in env.to_string(state, 0, 1) and "R1 || X1|RY1" not in env.to_string(state, 0, 0)
    over = env.state_from_dicts([table("R1 Y2", "R3 R1", life_tokens=0)])
    assert "Player 1: R1" in env.to_string(over, 0, 0) and "0 points for all: no life token is left" in env.to_string(
        over
    )
