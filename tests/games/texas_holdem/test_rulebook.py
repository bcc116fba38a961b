"""Texas hold'em: the rules as worked cases, played on every engine of the game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations, combinations_with_replacement
from math import comb, prod
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.texas_holdem.hands import strength
from tensor_envs.games.texas_holdem.notation import RANK_NAMES, SUIT_NAMES, card_name
from tensor_envs.games.texas_holdem.rules import TexasHoldem
from tensor_envs.rules import int32
from tests.games.shared import shared_env

GAME = "texas_holdem"
FOLD, CALL, HALF, POT, ALL_IN = range(5)
KINDS = {"f": FOLD, "c": CALL, "h": HALF, "p": POT, "a": ALL_IN}
BOARD = "2c 7d 9h Jc 3s"
Start = Callable[..., Any]


def cards(text: str) -> list[int]:
    return [4 * RANK_NAMES.index(name[0]) + SUIT_NAMES.index(name[1]) for name in text.split()]


def dealt(first: str = "Ah Kd", second: str = "Qc Td", board: str = BOARD, history: str = "") -> dict[str, Any]:
    """Return a dictionary of a game; the better hand is the first one's."""
    table = cards(board)
    return {
        "hands": [sorted(cards(first)), sorted(cards(second))],
        "board": sorted(table[:3]) + table[3:],
        "history": [KINDS[letter] for letter in history],
    }


def test_t1_t2_the_start(start: Start) -> None:
    for seed in range(10):
        game = start(GAME, seed=seed)
        state = game.to_dict()
        deal = [*state["hands"][0], *state["hands"][1], *state["board"]]
        assert len(set(deal)) == 9 and state["history"] == []
        assert game.current_player == 1 and game.legal_actions() == [FOLD, CALL, HALF, POT, ALL_IN]


# actions so far, the player to move and the actions that are legal then
LEGAL = {
    "": (1, "fchpa"),
    "c": (0, "chpa"),  # the option of the big blind
    "cc": (0, "chpa"),  # after the flop the button is last
    "ccc": (1, "chpa"),
    "h": (0, "fchpa"),  # to 4, then 8 or 12
    "a": (0, "fc"),
    "ca": (1, "fc"),
    "pppp": (1, "fca"),  # 162 chips; half of the pot would leave none
    "pppph": None,
    "ccp": (1, "fchpa"),
    "ccccp": (1, "fchpa"),
    "pc": (0, "chpa"),
    "ccccccc": (1, "chpa"),
}


@pytest.mark.parametrize("history", LEGAL)
def test_t3_t4_legal_actions(start: Start, history: str) -> None:
    found = LEGAL[history]
    if found is None:
        with pytest.raises(ValueError, match=r"action \d is illegal|history\[4\] must be one of"):
            start(GAME, dealt(history=history))
        return
    player, legal = found
    game = start(GAME, dealt(history=history))
    assert game.current_player == player and game.legal_actions() == sorted(KINDS[letter] for letter in legal)
    assert not game.terminated and game.rewards == [0, 0] and game.to_dict() == dealt(history=history)


def test_t4_a_raise_is_at_least_the_last_one(start: Start) -> None:
    """A raise of 12 by the pot makes one of a tenth illegal on its street, and one of 2 legal on the next."""
    game = start(GAME, dealt(), raises=(10, 300), stacks=(400, 400))
    assert game.legal_actions() == [FOLD, CALL, 3, 4]
    game.apply(3)  # 12 on top of 2
    assert game.legal_actions() == [FOLD, CALL, 3, 4]
    game.apply(CALL)
    assert game.legal_actions() == [CALL, 2, 3, 4]  # 2 is a tenth of 28, rounded down


def test_t5_raises_are_bounded(start: Start) -> None:
    game = start(GAME, dealt(), limit=(2, 2, 4, 4), max_raises=(3, 4, 4, 4))
    for _ in range(3):
        game.apply(2)
    assert game.legal_actions() == [FOLD, CALL]
    game.apply(CALL)
    for _ in range(4):
        assert game.legal_actions()[-1] == 2
        game.apply(2)
    assert game.legal_actions() == [FOLD, CALL]


# actions and what player 0 wins with the better hand, or the other one with the better hand where it is shown
ENDS = {
    "f": 1, "hf": -2, "cpf": 2, "ppf": 6, "cccccccc": 2, "pccccccc": 6, "ac": 200, "cac": 200, "ccac": 200,
    "hccpf": -4, "hcpf": 4, "af": -2,
}  # fmt: skip


@pytest.mark.parametrize("history", ENDS)
@pytest.mark.parametrize("lower", (False, True))
def test_t7_ends(start: Start, history: str, lower: bool) -> None:
    game = start(GAME, dealt("Qc Td", "Ah Kd") if lower else dealt())
    for letter in history:
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(KINDS[letter])
    worth = ENDS[history] * (-1 if lower and history[-1] == "c" else 1)
    assert game.terminated and not game.truncated and game.legal_actions() == []
    assert game.rewards == [worth, -worth]


@pytest.mark.parametrize("stacks", [(50, 200), (200, 50)])
def test_t7_what_is_not_matched_is_refunded(start: Start, stacks: tuple[int, int]) -> None:
    game = start(GAME, dealt(), stacks=stacks)
    game.apply(ALL_IN)
    assert game.legal_actions() == [FOLD, CALL]
    game.apply(CALL)
    assert game.terminated and game.rewards == [50, -50]


# the hands of both players, the board, and who wins
SHOWN = [
    ("2h 3h", "As Ad", "Ah 4h 5h Kc Ks", 1),  # the low straight flush beats a full house
    ("Ah 2d", "Ad 3c", "Ts Js Qs Ks As", 0),  # both play the board
    ("2h 3d", "Kh Qc", "Ah 4c 5s Jd 9h", 1),  # an ace is low in a straight
    ("Qh Kd", "9h 8c", "Ac 2c 3s Td 4h", 1),  # and no straight goes around the corner
    ("8h 8d", "9c 2h", "8c 9d 9s 3h 4c", 1),  # eights full of nines beat three nines
    ("8h 8d", "9c Kh", "8c 9d 9s Ks Kd", -1),  # nines full beat eights full
    ("Ah 2c", "Ks 3d", "Kd Kh 7c 7s 7h", -1),  # two triples are a full house
    ("Ah 4d", "Ks 5d", "9d 9h 7c 7s 2h", 1),  # of two pair the kicker decides
    ("6h 6d", "Ks 5d", "9d 9h 7c 7s Kh", -1),  # the third pair does not count
    ("Ah Qd", "As Jd", "9d 8h 7c 3s 2h", 1),
    ("Ah 3d", "As 4d", "9d 8h 7c Ks 2h", 0),  # the fifth card is on the board
    ("Ah 2h", "Kh Qd", "Th 8h 6h Jh 3c", 1),
    ("Ac Ad", "Kc Kd", "Ah As Kh Ks 2d", 1),
]


@pytest.mark.parametrize(("first", "second", "board", "sign"), SHOWN)
def test_t8_t9_hands(start: Start, first: str, second: str, board: str, sign: int) -> None:
    game = start(GAME, dealt(first, second, board))
    for action in (ALL_IN, CALL):
        game.apply(action)
    assert game.terminated and game.rewards == [200 * sign, -200 * sign]


@pytest.mark.slow
def test_t8_all_hands_of_five_cards() -> None:
    """Rank a hand of each class, and count 7462 classes and the hands of each category."""
    count: Counter[int] = Counter()
    values = set()

    def rank(hand: list[int], number: int) -> None:
        value = int(strength([int32(card) for card in hand], 13, 4).value)
        values.add(value)
        count[value >> 26] += number

    for ranks in combinations_with_replacement(range(13), 5):
        copies = Counter(ranks)
        if 1 < max(copies.values()) < 5:
            rank(
                [4 * r + suit for r, n in copies.items() for suit in range(n)],
                prod(comb(4, n) for n in copies.values()),
            )
    for ranks in combinations(range(13), 5):
        rank([4 * r for r in ranks], 4)  # of one suit
        rank([4 * r + (k == 0) for k, r in enumerate(ranks)], 4**5 - 4)
    assert [count[k] for k in range(9)] == [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40]
    assert len(values) == 7462


def test_t8_hands_of_few_cards(start: Start) -> None:
    """A pair beats a higher card where there are no five cards."""
    game = start(
        GAME, {"hands": [[0], [4]], "board": [1], "history": []},
        hole_cards=1, streets=(0, 1), ranks=3, suits=2, limit=(2, 4),
    )  # fmt: skip
    for action in (CALL, CALL, CALL, CALL):
        game.apply(action)
    assert game.rewards == [2, -2]


def test_t11_observation(start: Start) -> None:
    game = start(GAME, dealt(history="pc"))
    own = [int(card in cards("Ah Kd")) for card in range(52)]
    board = [int(card in cards("2c 7d 9h")) for card in range(52)]
    actions = [0, 0, 0, 1, 0, 0, 1, 0, 0, 0] + [0] * 65
    assert game.observation(0) == pytest.approx([1, 0, *own, *board, 0, 1, 0, 0, 0.03, 0.03, *actions])


def test_t11_what_a_player_does_not_see_is_not_drawn() -> None:
    env = te.make(GAME)
    for history, board, other in (
        ("p", "? ? ? ? ?", "? ?"), ("pc", "2c 7d 9h ? ?", "? ?"), ("ac", "2c 7d 9h Jc 3s", "Td Qc"),
        ("pf", "? ? ? ? ?", "? ?"),
    ):  # fmt: skip
        text = env.to_string(env.state_from_dicts([dealt(history=history)]), 0, 0)
        assert text.startswith(f"Player 1: Kd Ah; board: {board}; Player 2: {other}; in the pot: "), text


def test_pictures_name_streets_chips_and_hands() -> None:
    env = te.make(GAME)
    text = env.to_string(env.state_from_dicts([dealt(history="cpcccccc")]))
    assert text.splitlines()[1:] == [
        "preflop: call 1, raise to 6, call 4", "flop: check, check", "turn: check, check", "river: check",
        "Player 2 to move",
    ]  # fmt: skip
    end = env.to_string(env.state_from_dicts([dealt(history="cpccccccc")])).splitlines()[-1]
    assert end == "Player 1 wins 6: the better high card"
    shared = dealt("Ah 2d", "Ad 3c", "Ts Js Qs Ks As", "ac")
    assert env.to_string(env.state_from_dicts([shared])).splitlines()[-1] == "a draw: equal hands, straight flush"


@pytest.mark.parametrize(
    "wrong", [dealt("Ah Ah"), dealt("Ah Kd", "Ah 3c"), dealt("Ah 2c"), dealt() | {"board": [1, 2]}], ids=str
)
def test_t12_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'texas_holdem': (hands|board)"):
        te.make(GAME).state_from_dicts([wrong])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stacks": (2, 200)}, r"stacks\[0\] must be in 3\.\.100000, got 2"),
        ({"stacks": (200,)}, "stacks must have 2 entries, got 1"),
        ({"small_blind": 3}, r"small_blind must be in 0\.\.2, got 3"),
        ({"raises": (0,)}, r"raises\[0\] must be in 1\.\.1000, got 0"),
        ({"limit": (2, 2)}, "limit must have 4 entries, got 2"),
        ({"max_raises": (1, 2, 3)}, "max_raises must have 4 entries, got 3"),
        ({"streets": (0, 3, 0)}, "streets must be 1 to 4, with cards after the first, at most five"),
        ({"streets": (3, 3)}, "streets must be 1 to 4, with cards after the first, at most five"),
        ({"streets": ()}, "streets must be 1 to 4"),
        ({"ranks": 2}, "ranks and suits must give the 9 cards of a deal, got 8"),
        ({"hole_cards": 3}, r"hole_cards must be in 1\.\.2, got 3"),
        ({"limit": (2,) * 4, "stacks": (9999, 9999)}, "the number of plies that stacks, raises and max_raises allow"),
    ],
    ids=str,
)
def test_t10_wrong_fields(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.make(GAME, **wrong)


def test_names() -> None:
    env = te.make(GAME)
    names = [env.action_to_string(action) for action in range(5)]
    assert names == ["fold", "call", "raise 50%", "raise 100%", "all-in"]
    assert te.make(GAME, limit=(2, 2, 4, 4), max_raises=(4,) * 4).action_to_string(2) == "raise"
    assert [card_name(TexasHoldem(), card) for card in (0, 34, 51)] == ["2c", "Th", "As"]
    assert card_name(TexasHoldem(ranks=6, suits=2), 0) == "9c"


@pytest.mark.parametrize(
    ("history", "answer", "name"),
    [
        ([], "move: all in", "all-in"), ([], "move: raise pot", "raise 100%"), ([], "check", None), ([], "bet", None),
        ([CALL], "I check.", "call"), ([CALL], "move: bet 50%", "raise 50%"), ([CALL], "move: bet pot", "raise 100%"),
    ],
)  # fmt: skip
def test_t4_answers_in_a_players_words(history: list[int], answer: str, name: str | None) -> None:
    """Who owes chips cannot check: "check" is a call where nothing is owed alone."""
    env = shared_env(GAME)
    state = env.init(1, seed=1)
    for action in history:
        state = env.step(state, [action])
    if name is None:
        with pytest.raises(ValueError, match="answer must name a move"):
            te.text.parse(env, answer, state)
    else:
        assert env.action_names[te.text.parse(env, answer, state)] == name
