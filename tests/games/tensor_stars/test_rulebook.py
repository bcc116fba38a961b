"""Worked cases of the rules file by their number, for every engine.

"B5 W9" is Black's 5 and White's 9 on the red piece; if nothing else is said, blue and yellow get equal cards.
"""

from typing import Any, NamedTuple

import pytest

from tests.games.tensor_stars.positions import (
    BLACK,
    BLUE,
    COMMIT,
    ORDER,
    OVER,
    OWN_BY_SIDE,
    PRINTED,
    RED,
    REVERSED,
    STARTS,
    VARIANT_2,
    WHITE,
    Space,
    Start,
    assert_rewards_are_zero,
    assert_won,
    duel,
    ones,
    parts_of,
    place,
    position,
    spaces,
)


class Case(NamedTuple):
    """Worked case. `answers` are pairs of a player and an answer; the piece of the duel ends on `end`."""

    number: str
    pieces: dict[str, Space]
    black: int
    white: int
    end: Space
    winner: int | None = None
    answers: tuple[tuple[int, int], ...] = ()
    config: dict[str, Any] | None = None
    piece: int = RED


OWN, OPPOSITE = {"star_rule": "own"}, {"star_rule": "opposite"}
BY_PIECE = {"win_check": "piece", "ask_order": "always"}
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
    Case("16 credit to the side", {"red": (6, 2)}, 7, 4, (6, 3), WHITE, config=OWN_BY_SIDE),
    # Black's 8 must be shut, as by a piece on (1, 0): with that space vacant it takes red off the Star's row.
    Case("17", {"red": (1, 1), "blue": (1, 0)}, 8, 0, (0, 1), WHITE, config=OPPOSITE),
    Case("17 with (1, 0) vacant", {"red": (1, 1)}, 8, 0, (0, 0), config=OPPOSITE),
    # Not in the table, beside it: the same places under the rules that the case does not name.
    Case("9 own Stars only", {"red": (6, 2)}, 7, 0, (5, 3), config=OWN),
    Case("9 opposite Stars only", {"red": (6, 2)}, 7, 0, (6, 3), BLACK, config=OPPOSITE),
    Case("10 opposite Stars only", {"red": (5, 3)}, 4, 9, (4, 3), config=OPPOSITE),
    Case("10 opposite, side", {"red": (5, 3)}, 4, 9, (6, 3), BLACK, config={**OPPOSITE, "star_credit": "side"}),
    Case("17 own Stars only", {"red": (1, 1), "blue": (1, 0)}, 8, 0, (0, 1), config=OWN),
    Case("11 second card shut", {"red": (5, 3)}, 0, 9, (6, 3), WHITE, config=BY_PIECE),
    Case("11 both cards shut", {"red": (6, 3)}, 0, 9, (6, 3), config=BY_PIECE),
    Case("11 second card onto the Star", {"red": (5, 3)}, 9, 4, (6, 3), WHITE, config=BY_PIECE),
    Case("14 always asked", {"red": (3, 1)}, 8, 3, (4, 1), None, ((WHITE, PRINTED),), BY_PIECE),
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
    expected = [case.pieces.get(name, space) for name, space in zip(("red", "blue", "yellow"), STARTS, strict=True)]
    expected[case.piece] = case.end
    assert spaces(game) == expected
    assert_won(game, case.winner)


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


def test_observation_of_both_players(start: Start) -> None:
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
    assert mine["points"] == pytest.approx([2 / 3, 1 / 3]) and theirs["points"] == pytest.approx([1 / 3, 2 / 3])
    assert (mine["side"], theirs["side"]) == ([0], [1])
    assert mine["hands"] == theirs["hands"] == pytest.approx([0.2])


def test_observation_when_the_game_is_over(start: Start) -> None:
    """Check that the cards of the winning piece and of those before it lie face up, and the rest stay hidden."""
    game = start("tensor_stars", position(blue=(5, 3)))
    place(game, (0, 4, 1), (0, 9, 2))
    seen = parts_of(game.observation(BLACK))
    assert ones(seen["phase"]) == [2] and ones(seen["asked"]) == [] and ones(seen["scored"]) == [BLUE]
    assert [ones(commit) for commit in seen["their commit"]] == [[0], [9], []]
    assert ones(seen["their cards"]) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert seen["points"] == [0, 1]
