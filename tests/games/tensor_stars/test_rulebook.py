"""The worked cases of the rules file by their number, and its facts (F) and rulings (G), for every engine.

"B5 W9" is Black's 5 and White's 9 on the red piece; if nothing else is said, blue and yellow get equal cards.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from tests.games.chance import draw, game_key

Start = Callable[..., Any]
Space = tuple[int, int]

BLACK, WHITE = 0, 1
RED, BLUE, YELLOW = range(3)
COMMIT, ORDER, OVER = range(3)
PRINTED, REVERSED = 10, 11
STARTS: tuple[Space, ...] = ((4, 0), (3, 2), (2, 4))
VARIANT_2 = {"points_to_win": 3}


def position(
    red: Space | None = STARTS[0],
    blue: Space | None = STARTS[1],
    yellow: Space | None = STARTS[2],
    **fields: Any,
) -> dict[str, Any]:
    """The opening state with the pieces elsewhere (None: out of play) and some fields changed."""
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
    """A turn's cards for red, blue and yellow: those of player 0 (Black unless flipped), then of 1."""
    for card in (*first, *second):
        game.apply(card)


def duel(game: Any, black: int, white: int, piece: int = RED) -> None:
    """One card of each for one piece, and equal cards for the two others."""
    equal = [card for card in range(10) if card not in (black, white)]
    triples = [[card if slot == piece else equal[slot] for slot in range(3)] for card in (black, white)]
    place(game, *triples)


def assert_won(game: Any, winner: int | None) -> None:
    assert game.to_dict()["winner"] == (-1 if winner is None else winner)
    assert game.terminated == (winner is not None)
    assert (game.legal_actions() == []) == (winner is not None)
    expected = {None: [0, 0], BLACK: [1, -1], WHITE: [-1, 1]}[winner]
    assert list(game.rewards) == pytest.approx(expected)


class Case(NamedTuple):
    """`answers` are (who is asked, what is answered); the piece of the duel ends on `end`."""

    number: str
    pieces: dict[str, Space]
    black: int
    white: int
    end: Space
    winner: int | None = None
    answers: tuple[tuple[int, int], ...] = ()
    config: dict[str, Any] | None = None
    piece: int = RED


OWN, OPPOSITE, BY_PIECE = {"star_rule": "own"}, {"star_rule": "opposite"}, {"win_check": "piece"}
CASES = (
    Case("1", {}, 5, 9, (5, 0)),
    Case("2", {}, 5, 4, (6, 2)),
    Case("3 printed", {}, 2, 8, (2, 3), None, ((BLACK, PRINTED),), piece=BLUE),
    Case("3 reversed", {}, 2, 8, (3, 4), None, ((BLACK, REVERSED),), piece=BLUE),
    Case("4", {}, 9, 9, (4, 0)),
    Case("5", {}, 0, 1, (6, 0)),
    Case("6", {"red": (6, 4)}, 0, 5, (6, 2)),
    Case("7", {"red": (6, 4), "blue": (6, 2)}, 0, 5, (6, 3), WHITE),
    Case("8", {"red": (5, 3), "blue": (5, 2)}, 8, 4, (6, 3), WHITE),
    Case("9", {"red": (6, 2)}, 7, 0, (6, 3), BLACK),
    Case("10", {"red": (5, 3)}, 4, 9, (6, 3), WHITE),
    Case("11", {"red": (5, 3)}, 4, 9, (4, 3), config=BY_PIECE),
    Case("12", {"red": (5, 3)}, 9, 4, (6, 3), WHITE),
    Case("13 reversed", {"red": (5, 4), "blue": (6, 4)}, 0, 2, (6, 3), WHITE, ((WHITE, REVERSED),)),
    Case("13 printed", {"red": (5, 4), "blue": (6, 4)}, 0, 2, (6, 3), BLACK, ((WHITE, PRINTED),)),
    Case("14", {"red": (3, 1)}, 8, 3, (4, 1)),
    Case("15", {"red": (6, 2), "blue": (6, 1)}, 8, 3, (6, 3), WHITE),
    Case("16", {"red": (6, 2)}, 7, 4, (6, 3), config=OWN),
    Case("16 shut cards on the Star", {"red": (6, 3)}, 0, 9, (6, 3), config=OWN),
    Case(
        "16 credit to the side", {"red": (6, 2)}, 7, 4, (6, 3), WHITE, config={**OWN, "star_credit": "side"}
    ),
    # Black's 8 must be shut, as by a piece on (1, 0): with that space vacant it takes red off the Star's row.
    Case("17", {"red": (1, 1), "blue": (1, 0)}, 8, 0, (0, 1), WHITE, config=OPPOSITE),
    Case("17 with (1, 0) vacant", {"red": (1, 1)}, 8, 0, (0, 0), config=OPPOSITE),
    # Not in the table, beside it: the same places under the rules that the case does not name.
    Case("9 own Stars only", {"red": (6, 2)}, 7, 0, (5, 3), config=OWN),
    Case("9 opposite Stars only", {"red": (6, 2)}, 7, 0, (6, 3), BLACK, config=OPPOSITE),
    Case("10 opposite Stars only", {"red": (5, 3)}, 4, 9, (4, 3), config=OPPOSITE),
    Case(
        "10 opposite, side",
        {"red": (5, 3)},
        4,
        9,
        (6, 3),
        BLACK,
        config={**OPPOSITE, "star_credit": "side"},
    ),
    Case("17 own Stars only", {"red": (1, 1), "blue": (1, 0)}, 8, 0, (0, 1), config=OWN),
    Case("11 second card shut", {"red": (5, 3)}, 0, 9, (6, 3), WHITE, config=BY_PIECE),
    Case("11 both cards shut", {"red": (6, 3)}, 0, 9, (6, 3), config=BY_PIECE),
    Case("11 second card onto the Star", {"red": (5, 3)}, 9, 4, (6, 3), WHITE, config=BY_PIECE),
    Case(
        "14 always asked", {"red": (3, 1)}, 8, 3, (4, 1), None, ((WHITE, PRINTED),), {"ask_order": "always"}
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"case {case.number}")
def test_duel(start: Start, case: Case) -> None:
    game = start("tensor_stars", position(**case.pieces), **(case.config or {}))
    duel(game, case.black, case.white, case.piece)
    for player, answer in case.answers:
        assert (game.to_dict()["phase"], game.current_player) == (ORDER, player)
        assert game.legal_actions() == [PRINTED, REVERSED]
        assert_rewards_are_zero(game)
        game.apply(answer)
    assert game.to_dict()["phase"] == (COMMIT if case.winner is None else OVER)
    expected = [
        case.pieces.get(name, space) for name, space in zip(("red", "blue", "yellow"), STARTS, strict=True)
    ]
    expected[case.piece] = case.end
    assert spaces(game) == expected
    assert_won(game, case.winner)


def assert_rewards_are_zero(game: Any) -> None:
    assert list(game.rewards) == pytest.approx([0, 0])


@pytest.mark.parametrize("ask", ["differs", "always"])
def test_case_18_out_of_play_until_the_start_is_vacant(start: Start, ask: str) -> None:
    game = start("tensor_stars", position(red=(5, 3), blue=(4, 0)), ask_order=ask, **VARIANT_2)
    place(game, (0, 1, 2), (9, 1, 2))
    assert spaces(game) == [None, (4, 0), (2, 4)]
    assert game.to_dict()["points"] == [0, 1] and game.to_dict()["scored"] == [0, 0, 0]
    assert_won(game, None)
    place(game, (3, 5, 6), (4, 5, 6))  # red's 3 would be asked about if red were on the board (G20)
    assert spaces(game) == [None, (4, 0), (2, 4)]
    place(game, (7, 9, 8), (0, 7, 8))
    assert spaces(game) == [(4, 0), (3, 0), (2, 4)]
    assert game.to_dict()["points"] == [0, 1] and game.to_dict()["hands"] == 1


@pytest.mark.parametrize(("stops", "seen"), [(True, (6, 3)), (False, (4, 3))])
def test_case_19_cards_on_a_piece_that_has_scored(start: Start, stops: bool, seen: Space) -> None:
    game = start("tensor_stars", position(red=(5, 3)), score_stops_piece=stops, **VARIANT_2)
    place(game, (4, 2, 0), (9, 8, 0))  # blue's question lets us look into the turn
    assert game.to_dict()["phase"] == ORDER
    assert spaces(game) == [seen, (3, 3), (2, 4)]
    assert game.to_dict()["points"] == [0, 1] and game.to_dict()["scored"] == [1, 0, 0]
    game.apply(PRINTED)
    assert spaces(game) == [(4, 0), (2, 3), (2, 4)]


def test_case_20_reset_all(start: Start) -> None:
    game = start("tensor_stars", position((5, 3), (0, 0), (6, 4)), reset="all", **VARIANT_2)
    duel(game, 0, 9)
    assert spaces(game) == list(STARTS)
    assert game.to_dict()["points"] == [0, 1]
    place(game, (8, 5, 6), (4, 5, 6))
    assert spaces(game) == [(6, 0), (3, 2), (2, 4)]  # no reset without a point


def test_case_21_a_hand_of_equal_cards(start: Start) -> None:
    game = start("tensor_stars")
    for turn, triple in enumerate([(0, 1, 2), (3, 4, 5), (6, 7, 8)]):
        assert game.to_dict() == position(turn=turn, hand=[[int(card >= 3 * turn) for card in range(10)]] * 2)
        place(game, triple, triple)
    assert game.to_dict() == position(hands=1)


def test_case_22_cards_lie_face_down(start: Start) -> None:
    seen = []
    for triple in [(9, 8, 7), (0, 1, 2)]:
        game = start("tensor_stars")
        for card in triple:
            game.apply(card)
        assert game.current_player == WHITE
        seen.append(list(game.observation(WHITE)))
    assert seen[0] == pytest.approx(seen[1])


def test_case_23_cards_are_revealed_piece_by_piece(start: Start) -> None:
    game = start("tensor_stars")
    place(game, (0, 2, 1), (0, 8, 3))
    assert game.to_dict()["phase"] == ORDER and game.current_player == BLACK
    seen = parts_of(game.observation(BLACK))
    assert [ones(commit) for commit in seen["their commit"]] == [[0], [8], []]
    assert ones(seen["their cards"]) == [1, 2, 3, 4, 5, 6, 7, 9]
    assert ones(seen["phase"]) == [1] and ones(seen["asked"]) == [BLUE]
    assert [ones(commit) for commit in parts_of(game.observation(WHITE))["their commit"]] == [[0], [2], []]
    assert ones(parts_of(game.observation(WHITE))["phase"]) == [2]


def parts_of(observation: Any, size: int = 35) -> dict[str, Any]:
    """Section 6: the flat observation by the names of its parts."""
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


def test_observation_of_both_chairs(start: Start) -> None:
    hands = [[0, 1, 1, 1, 0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0, 0, 0, 1]]
    state = position(red=None, blue=(0, 0), turn=1, hands=10, points=[2, 1], hand=hands)
    game = start("tensor_stars", state, **VARIANT_2)
    game.apply(3)
    mine, theirs = parts_of(game.observation(BLACK)), parts_of(game.observation(WHITE))
    assert [ones(pos) for pos in mine["pos"]] == [[35], [0], [30]]
    assert [ones(pos) for pos in theirs["pos"]] == [[35], [34], [4]]  # turned by half
    assert ones(mine["my cards"]) == [1, 2, 6, 7, 8, 9]
    assert [ones(commit) for commit in mine["my commit"]] == [[3], [], []]
    assert ones(mine["their cards"]) == [0, 1, 2, 3, 4, 5, 9]
    assert ones(theirs["their cards"]) == [1, 2, 3, 6, 7, 8, 9]  # the card placed is face down
    assert [ones(commit) for commit in theirs["their commit"]] == [[], [], []]
    assert ones(mine["turn"]) == ones(theirs["turn"]) == [1]
    assert (ones(mine["phase"]), ones(theirs["phase"])) == ([0], [2])
    assert ones(mine["asked"]) == ones(mine["scored"]) == []
    assert mine["points"] == pytest.approx([2 / 3, 1 / 3]) and theirs["points"] == pytest.approx(
        [1 / 3, 2 / 3]
    )
    assert (mine["side"], theirs["side"]) == ([0], [1])
    assert mine["hands"] == theirs["hands"] == pytest.approx([0.2])


def test_observation_when_the_game_is_over(start: Start) -> None:
    """The cards of the piece that won and of those before it lie face up, the rest stay hidden."""
    game = start("tensor_stars", position(blue=(5, 3)))
    place(game, (0, 4, 1), (0, 9, 2))
    seen = parts_of(game.observation(BLACK))
    assert ones(seen["phase"]) == [2] and ones(seen["asked"]) == [] and ones(seen["scored"]) == [BLUE]
    assert [ones(commit) for commit in seen["their commit"]] == [[0], [9], []]
    assert ones(seen["their cards"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert seen["points"] == [0, 1]


def test_facts_1_2_set_up(start: Start) -> None:
    game = start("tensor_stars")
    assert game.to_dict() == position()
    assert game.legal_actions() == list(range(10)) and game.current_player == BLACK
    assert not game.terminated and not game.truncated
    assert_rewards_are_zero(game)


def test_fact_4_slots_and_seats(start: Start) -> None:
    game = start("tensor_stars")
    for player, slot, card in [(0, 0, 6), (0, 1, 0), (0, 2, 9), (1, 0, 6), (1, 1, 1)]:
        assert game.current_player == player
        game.apply(card)
        state = game.to_dict()
        assert state["commit"][player][slot] == card and state["hand"][player][card] == 0
        with pytest.raises(ValueError):
            game.apply(card if slot < 2 else PRINTED)
        assert game.to_dict() == state


def test_fact_5_red_then_blue_then_yellow(start: Start) -> None:
    game = start("tensor_stars", position((4, 0), (4, 1), (4, 2)))
    place(game, (9, 8, 6), (0, 7, 5))  # red goes west, and the others follow north into what is vacated
    assert spaces(game) == [(2, 0), (4, 0), (4, 1)]
    game = start("tensor_stars", position((4, 2), (4, 1), (4, 0)))
    place(game, (6, 8, 9), (5, 7, 0))  # now those in front move last, so only the first of the row gets away
    assert spaces(game) == [(4, 2), (4, 1), (2, 0)]


def test_facts_7_11_used_cards_come_back_after_three_turns(start: Start) -> None:
    game = start("tensor_stars")
    counts = []
    for triple in [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 1, 2)]:
        for card in triple * 2:
            counts.append(len(game.legal_actions()))
            game.apply(card)
    assert counts == [10, 9, 8] * 2 + [7, 6, 5] * 2 + [4, 3, 2] * 2 + [10, 9, 8] * 2


# Spaces toward the owner and to his right.
MOVES = {
    0: (-1, 0),
    1: (3, 0),
    2: (1, 1),
    3: (1, -1),
    4: (2, 0),
    5: (0, 2),
    6: (0, -2),
    7: (0, 1),
    8: (0, -1),
    9: (1, 0),
}


@pytest.mark.parametrize("player", [BLACK, WHITE])
@pytest.mark.parametrize("card", range(10))
def test_facts_15_to_19_every_card(start: Start, card: int, player: int) -> None:
    other = 9 if card != 9 else 0
    game = start("tensor_stars", position(red=(3, 2), blue=(0, 0), yellow=(6, 4)))
    duel(game, *((card, other) if player == BLACK else (other, card)))
    x, y = 3, 2
    for owner, number in ((player, card), (1 - player, other)):
        sign = -1 if owner == BLACK else 1  # toward Black is west, his right is south; White sits opposite
        x, y = x + sign * MOVES[number][0], y - sign * MOVES[number][1]
    assert spaces(game)[RED] == (x, y)


# The deck of section 2: the parts of card i.
PARTS = ["A1"], ["T3"], ["T1", "R1"], ["T1", "L1"], ["T2"], ["R2"], ["L2"], ["R1"], ["L1"], ["T1"]


def deck_with(card: int, **changes: Any) -> list[dict[str, Any]]:
    deck: list[dict[str, Any]] = [
        {"number": number, "parts": parts, "either": len(parts) == 2} for number, parts in enumerate(PARTS)
    ]
    deck[card].update(changes)
    return deck


def test_default_deck_written_out(start: Start) -> None:
    game = start("tensor_stars", deck=deck_with(0))
    duel(game, 2, 8, BLUE)
    assert game.to_dict()["phase"] == ORDER
    assert spaces(game) == [(4, 0), (3, 3), (2, 4)]


@pytest.mark.parametrize(
    ("changes", "black", "white", "end", "winner"),
    [
        ({"number": 9}, 4, 9, (5, 3), None),  # F7: equal numbers, whatever the cards
        ({"number": 20}, 4, 9, (4, 3), None),  # F6: now Black's card is the first
        ({"number": -1}, 4, 0, (2, 3), None),
        ({"parts": ["T1"]}, 4, 0, (3, 3), None),
        ({"parts": ["A2"]}, 4, 0, (6, 3), BLACK),
        ({"parts": ["T1", "A2"]}, 4, 0, (6, 3), BLACK),  # there and back over its own space
        ({"parts": ["T2", "R1"]}, 4, 0, (2, 4), None),  # G16: no choice, as printed
        ({"parts": ["R3", "T1"]}, 4, 0, (3, 4), None),  # G16: the edge ends one part, not the other
    ],
)
def test_deck_is_data(
    start: Start, changes: dict[str, Any], black: int, white: int, end: Space, winner: int | None
) -> None:
    game = start("tensor_stars", position(red=(5, 3), yellow=(0, 0)), deck=deck_with(4, **changes))
    duel(game, black, white)
    assert spaces(game)[RED] == end
    assert_won(game, winner)


@pytest.mark.parametrize(("order", "end"), [(PRINTED, (0, 3)), (REVERSED, (3, 4))])
def test_ruling_15_each_part_is_made_whole(start: Start, order: int, end: Space) -> None:
    game = start("tensor_stars", position((3, 2), (0, 0)), deck=deck_with(2, parts=["T2", "R2"]))
    duel(game, 2, 0)
    assert game.to_dict()["phase"] == ORDER and game.current_player == BLACK
    game.apply(order)
    assert spaces(game)[RED] == end  # White's 0 follows: one to the west


def test_ruling_14_not_asked_when_both_orders_end_alike(start: Start) -> None:
    deck = deck_with(2, parts=["R3", "T1"])
    game = start("tensor_stars", position((3, 3), (0, 0), (6, 4)), deck=deck)
    duel(game, 2, 0)
    assert game.to_dict()["phase"] == COMMIT and spaces(game)[RED] == (1, 4)


def test_ruling_17_a_piece_that_has_scored_is_an_obstacle(start: Start) -> None:
    game = start("tensor_stars", position((5, 3), (4, 3)), **VARIANT_2)
    place(game, (4, 0, 5), (9, 1, 5))
    assert spaces(game) == [(4, 0), (5, 3), (2, 4)]
    assert game.to_dict()["points"] == [0, 1]


def test_variant_2_two_pieces_score_in_one_turn(start: Start) -> None:
    game = start("tensor_stars", position((5, 3), (1, 1)), **VARIANT_2)
    place(game, (0, 9, 1), (9, 0, 1))
    assert spaces(game) == list(STARTS)
    assert game.to_dict()["points"] == [1, 1]


@pytest.mark.parametrize(("stops", "seen"), [(True, (4, 0)), (False, (2, 0))])
def test_ruling_18_reset_at_once(start: Start, stops: bool, seen: Space) -> None:
    rules = {**VARIANT_2, "reset_at_once": True, "score_stops_piece": stops}
    game = start("tensor_stars", position(red=(5, 3)), **rules)
    place(game, (4, 2, 0), (9, 8, 0))
    assert spaces(game) == [seen, (3, 3), (2, 4)]
    game.apply(PRINTED)
    assert spaces(game) == [seen, (2, 3), (2, 4)]  # put back once, not again at the end of the turn
    assert game.to_dict()["points"] == [0, 1]


@pytest.mark.parametrize(("at_once", "blue"), [(True, (1, 2)), (False, (3, 2))])
def test_ruling_18_reset_all_at_once(start: Start, at_once: bool, blue: Space) -> None:
    game = start("tensor_stars", position((5, 3), (0, 0)), reset="all", reset_at_once=at_once, **VARIANT_2)
    place(game, (4, 9, 3), (9, 0, 3))
    assert spaces(game) == [(4, 0), blue, (2, 4)]


@pytest.mark.parametrize(
    ("black", "white", "red", "blue"), [(9, 0, (4, 0), (2, 0)), (8, 8, None, (4, 0))], ids=["leaves", "stays"]
)
def test_ruling_18_at_once_to_an_occupied_start(
    start: Start, black: int, white: int, red: Space | None, blue: Space
) -> None:
    game = start("tensor_stars", position((5, 3), (4, 0)), reset_at_once=True, **VARIANT_2)
    place(game, (4, black, 3), (9, white, 3))
    assert spaces(game) == [red, blue, (2, 4)]


def test_ruling_18_at_once_leaves_a_piece_that_scored_before(start: Start) -> None:
    rules = {**VARIANT_2, "reset_at_once": True, "score_stops_piece": False, "ask_order": "always"}
    game = start("tensor_stars", position((5, 3), (1, 1), (3, 3)), **rules)
    place(game, (4, 9, 2), (9, 0, 1))
    assert spaces(game) == [(2, 0), (2, 2), (3, 3)] and game.to_dict()["points"] == [1, 1]
    game.apply(PRINTED)
    assert spaces(game) == [(2, 0), (2, 2), (5, 4)]


def test_ruling_18_at_once_brings_back_no_other_piece(start: Start) -> None:
    rules = {**VARIANT_2, "reset_at_once": True, "ask_order": "always"}
    game = start("tensor_stars", position(None, (5, 3), (3, 3)), **rules)
    place(game, (0, 4, 2), (0, 9, 1))
    assert spaces(game) == [None, (3, 2), (3, 3)] and game.to_dict()["points"] == [0, 1]
    game.apply(PRINTED)
    assert spaces(game)[RED] == (4, 0)  # only now is the turn at its end


def test_ruling_21_the_third_point_ends_the_game_at_once(start: Start) -> None:
    game = start("tensor_stars", position(red=(5, 3), points=[1, 2]), **VARIANT_2)
    place(game, (4, 9, 0), (9, 1, 2))
    assert_won(game, WHITE)
    assert game.to_dict()["points"] == [1, 3]
    assert spaces(game) == [(6, 3), (3, 2), (2, 4)]


@pytest.mark.parametrize("rules", [{}, {"star_rule": "own"}])
@pytest.mark.parametrize("flip", [0, 1])
def test_ruling_23_random_colours(start: Start, flip: int, rules: dict[str, Any]) -> None:
    seed = next(seed for seed in range(99) if draw(game_key(seed, 0, 0), 0, 2) == flip)
    game = start("tensor_stars", seed=seed, random_colours=True, **rules)
    assert game.to_dict() == position(flip=flip)
    black, white = flip, 1 - flip  # the seats
    assert parts_of(game.observation(white))["side"] == [1]
    assert ones(parts_of(game.observation(white))["pos"][RED]) == [30]
    assert ones(parts_of(game.observation(black))["pos"][RED]) == [4]
    game = start("tensor_stars", position(red=(5, 3), flip=flip), seed=seed, random_colours=True, **rules)
    triples = {black: (4, 0, 1), white: (9, 0, 1)}
    place(game, triples[0], triples[1])
    assert_won(game, white)
    assert spaces(game)[RED] == (6, 3)


@pytest.mark.parametrize(("hands", "rules"), [(49, {}), (0, {"max_hands": 1})])
def test_ruling_24_draw_by_the_cap(start: Start, hands: int, rules: dict[str, Any]) -> None:
    hand = [[0] * 6 + [1] * 4] * 2
    game = start("tensor_stars", position(hands=hands, turn=2, hand=hand), **rules)
    place(game, (6, 7, 8), (6, 7, 8))
    assert game.truncated and not game.terminated
    assert game.legal_actions() == []
    assert_rewards_are_zero(game)
    assert game.to_dict() == position(hands=hands + 1, phase=OVER, truncated=1)
    assert parts_of(game.observation(BLACK))["hands"] == [1]


# Three spaces in a row and two below the middle one.
BOARD_T = {
    "lines": [[[0, 0], [2, 0]], [[1, 0], [1, 2]]],
    "stars": [[[1, 2], 1], [[0, 0], 0]],
    "starts": [[2, 0], [1, 0], [1, 1]],
}


@pytest.mark.parametrize(
    ("piece", "black", "white", "pos", "winner"),
    [
        (RED, 9, 8, [2, 1, 4], None),  # blue in the way, and no line down
        (BLUE, 9, 0, [2, 0, 4], BLACK),
        (YELLOW, 6, 5, [2, 1, 4], None),
        (YELLOW, 9, 8, [2, 1, 7], WHITE),
        (YELLOW, 5, 0, [2, 1, 7], BLACK),
    ],
)
def test_ruling_25_board_is_data(
    start: Start, piece: int, black: int, white: int, pos: list[int], winner: int | None
) -> None:
    game = start("tensor_stars", board=BOARD_T)
    assert game.to_dict()["pos"] == [2, 1, 4]
    for player in (BLACK, WHITE):  # not the same after a half turn, so White sees it as it is
        assert [ones(place) for place in parts_of(game.observation(player), size=9)["pos"]] == [[2], [1], [4]]
    duel(game, black, white, piece)
    assert game.to_dict()["pos"] == pos
    assert_won(game, winner)


def test_lines_join_neighbours_only(start: Start) -> None:
    column = {"lines": [[[0, 6], [0, 0]]], "stars": [[[0, 6], 1]], "starts": [[0, 0], [0, 2], [0, 4]]}
    game = start("tensor_stars", board=column)
    duel(game, 9, 4)
    assert game.to_dict()["pos"] == [0, 2, 4]


GRID = [*([[0, y], [6, y]] for y in range(5)), *([[x, 0], [x, 4]] for x in range(7))]


@pytest.mark.parametrize(
    ("board", "turned"),
    [
        ({"starts": [[4, 0], [0, 0], [1, 0]]}, True),
        ({"lines": GRID}, True),
        ({"lines": GRID[1:]}, False),
        ({"stars": [[[5, 0], 0]]}, False),
        ({"stars": [[[0, 1], 1], [[6, 3], 1]]}, False),
    ],
)
def test_white_sees_the_board_turned_if_it_then_looks_like_blacks(
    start: Start, board: dict[str, Any], turned: bool
) -> None:
    """Lines and Stars count, starts do not; a key that is left out keeps its default."""
    game = start("tensor_stars", board=board)
    assert ones(parts_of(game.observation(BLACK))["pos"][RED]) == [4]
    assert ones(parts_of(game.observation(WHITE))["pos"][RED]) == [30 if turned else 4]


def test_mover_is_of_the_piece_that_is_resolving(start: Start) -> None:
    game = start("tensor_stars", position(red=(5, 4), blue=(6, 4), mover=BLACK))
    duel(game, 0, 2)
    assert game.to_dict()["phase"] == ORDER and game.to_dict()["mover"] == -1
    game = start("tensor_stars")
    duel(game, 2, 8, BLUE)
    assert game.to_dict()["phase"] == ORDER and game.to_dict()["mover"] == WHITE


@pytest.mark.parametrize(
    "config",
    [
        {"points": 3},
        {"board": {"walls": []}},
        {"deck": [{"number": 0, "parts": ["T1"], "colour": 0}] * 10},
    ],
)
def test_unknown_fields(start: Start, config: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        start("tensor_stars", **config)


@pytest.mark.parametrize(
    "config",
    [
        {"win_check": "turn"},
        {"star_rule": "both"},
        {"star_credit": "owner"},
        {"ask_order": "never"},
        {"reset": "none"},
        {"points_to_win": 0},
        {"max_hands": 0},
        {"deck": deck_with(0)[:9]},
        {"deck": deck_with(2, parts=["T1"])},
        {"deck": deck_with(0, parts=["U1"])},
        {"deck": deck_with(0, parts=["A0"])},
        {"deck": deck_with(0, parts=[])},
        {"deck": deck_with(0, parts=["A1", "T1", "A1"])},
        {"board": {"lines": [*GRID, [[0, 0], [1, 1]]]}},
        {"board": {"lines": [*GRID, [[0, 0], [0, 0]]]}},
        {"board": {"lines": [*GRID, [[-1, 0], [0, 0]]]}},
        {"board": {"starts": [[0, 0], [1, 0]]}},
        {"board": {"starts": [[0, 0], [1, 0], [1, 0]]}},
        {"board": {"starts": [[0, 0], [1, 0], [7, 0]]}},
        {"board": {"stars": [[[0, 5], 0]]}},
        {"board": {"stars": [[[0, 1], 2]]}},
        {"board": {"stars": [[[0, 1], 0], [[0, 1], 1]]}},
    ],
)
def test_impossible_rules(start: Start, config: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        start("tensor_stars", **config)
