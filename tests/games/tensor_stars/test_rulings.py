"""Facts (F) and rulings (G) of the rules file by their number, for every engine."""

from typing import Any

import pytest

from tests.games.chance import draw, game_key
from tests.games.tensor_stars.positions import (
    ASKED,
    BLACK,
    BLUE,
    COMMIT,
    FOURS,
    ORDER,
    OVER,
    OWN_BY_SIDE,
    PRINTED,
    RED,
    REVERSED,
    STARTS,
    VARIANT_2,
    WHITE,
    YELLOW,
    Space,
    Start,
    assert_rewards_are_zero,
    assert_won,
    deck_with,
    duel,
    ones,
    parts_of,
    place,
    position,
    spaces,
)


def test_facts_1_2_set_up(start: Start) -> None:
    game = start("tensor_stars")
    assert game.to_dict() == position()
    assert game.legal_actions() == list(range(10)) and game.current_player == BLACK
    assert not game.terminated and not game.truncated
    assert_rewards_are_zero(game)


def test_fact_4_slots_and_players(start: Start) -> None:
    game = start("tensor_stars")
    for player, slot, card in [(0, 0, 6), (0, 1, 0), (0, 2, 9), (1, 0, 6), (1, 1, 1)]:
        assert game.current_player == player
        game.apply(card)
        state = game.to_dict()
        assert state["commit"][player][slot] == card and state["hand"][player][card] == 0
        with pytest.raises(ValueError, match=r"action \d+ is (not among the legal|illegal)"):
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


def test_default_deck_written_out(start: Start) -> None:
    game = start("tensor_stars", deck=deck_with())
    duel(game, 2, 8, BLUE)
    assert game.to_dict()["phase"] == ORDER
    assert spaces(game) == [(4, 0), (3, 3), (2, 4)]


@pytest.mark.few("reference", "env-1-9-end0-None")
@pytest.mark.parametrize(
    ("black", "white", "end", "winner"),
    [
        (1, 9, (5, 3), None),  # F7: equal numbers, whatever the cards
        (2, 9, (4, 3), None),  # F6: now Black's card is the first
        (3, 0, (2, 3), None),
        (4, 0, (3, 3), None),
        (5, 0, (6, 3), BLACK),
        (6, 0, (6, 3), BLACK),  # there and back over its own space
        (7, 0, (2, 4), None),  # G16: no choice, as printed
        (8, 0, (3, 4), None),  # G16: the edge ends one part, not the other
    ],
)
def test_deck_is_data(start: Start, black: int, white: int, end: Space, winner: int | None) -> None:
    game = start("tensor_stars", position(red=(5, 3), yellow=(0, 0)), deck=FOURS)
    duel(game, black, white)
    assert spaces(game)[RED] == end
    assert_won(game, winner)


@pytest.mark.parametrize(("order", "end"), [(PRINTED, (0, 3)), (REVERSED, (3, 4))])
def test_ruling_15_each_part_is_made_whole(start: Start, order: int, end: Space) -> None:
    game = start("tensor_stars", position((3, 2), (0, 0)), deck=ASKED)
    duel(game, 2, 0)
    assert game.to_dict()["phase"] == ORDER and game.current_player == BLACK
    game.apply(order)
    assert spaces(game)[RED] == end  # White's 0 follows: one to the west


def test_ruling_14_not_asked_when_both_orders_end_alike(start: Start) -> None:
    game = start("tensor_stars", position((3, 3), (0, 0), (6, 4)), deck=ASKED)
    duel(game, 3, 0)
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


AT_ONCE: dict[str, Any] = {**VARIANT_2, "reset_at_once": True, "ask_order": "always"}
AND_ON: dict[str, Any] = {**AT_ONCE, "score_stops_piece": False}


@pytest.mark.parametrize(("rules", "seen"), [(AT_ONCE, (4, 0)), (AND_ON, (2, 0))], ids=["stops", "goes on"])
def test_ruling_18_reset_at_once(start: Start, rules: dict[str, Any], seen: Space) -> None:
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
    game = start("tensor_stars", position((5, 3), (4, 0)), **AT_ONCE)
    place(game, (4, black, 3), (9, white, 3))
    assert spaces(game) == [red, blue, (2, 4)]


def test_ruling_18_at_once_leaves_a_piece_that_scored_before(start: Start) -> None:
    game = start("tensor_stars", position((5, 3), (1, 1), (3, 3)), **AND_ON)
    place(game, (4, 9, 2), (9, 0, 1))
    assert spaces(game) == [(2, 0), (2, 2), (3, 3)] and game.to_dict()["points"] == [1, 1]
    game.apply(PRINTED)
    assert spaces(game) == [(2, 0), (2, 2), (5, 4)]


def test_ruling_18_at_once_brings_back_no_other_piece(start: Start) -> None:
    game = start("tensor_stars", position(None, (5, 3), (3, 3)), **AT_ONCE)
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


@pytest.mark.few("reference", "env-0-rules0")
@pytest.mark.parametrize("rules", [{}, {"star_rule": "own"}])
@pytest.mark.parametrize("flip", [0, 1])
def test_ruling_23_random_colours(start: Start, flip: int, rules: dict[str, Any]) -> None:
    seed = next(seed for seed in range(99) if draw(game_key(seed, 0, 0), 0, 2) == flip)
    game = start("tensor_stars", seed=seed, random_colours=True, **rules)
    assert game.to_dict() == position(flip=flip)
    black, white = flip, 1 - flip  # the players
    assert parts_of(game.observation(white))["side"] == [1]
    assert ones(parts_of(game.observation(white))["pos"][RED]) == [30]
    assert ones(parts_of(game.observation(black))["pos"][RED]) == [4]
    game = start("tensor_stars", position(red=(5, 3), flip=flip), seed=seed, random_colours=True, **rules)
    triples = {black: (4, 0, 1), white: (9, 0, 1)}
    place(game, triples[0], triples[1])
    assert_won(game, white)
    assert spaces(game)[RED] == (6, 3)


@pytest.mark.parametrize(("hands", "rules"), [(49, {}), (0, OWN_BY_SIDE)], ids=["50", "1"])
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


@pytest.mark.few("reference", "env-2-6-5-pos2-None")
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
    """Check that lines and Stars count and starts do not; a key that is left out keeps its default."""
    game = start("tensor_stars", board=board)
    assert ones(parts_of(game.observation(BLACK))["pos"][RED]) == [4]
    assert ones(parts_of(game.observation(WHITE))["pos"][RED]) == [30 if turned else 4]


def test_mover_is_of_the_piece_that_is_resolving(start: Start) -> None:
    game = start("tensor_stars", position(red=(5, 4), blue=(6, 4)))
    duel(game, 0, 2)
    assert game.to_dict()["phase"] == ORDER and game.to_dict()["mover"] == -1
    game = start("tensor_stars", ask_order="always")
    place(game, (9, 2, 4), (0, 1, 4))  # red is moved, then blue's first card is asked about
    assert game.to_dict()["phase"] == ORDER and game.to_dict()["cursor"] == 2 * BLUE
    assert spaces(game)[RED] != STARTS[RED] and game.to_dict()["mover"] == -1
    game = start("tensor_stars")
    duel(game, 2, 8, BLUE)
    assert game.to_dict()["phase"] == ORDER and game.to_dict()["mover"] == WHITE


def test_mover_is_nobody_when_nothing_is_resolving(start: Start) -> None:
    game = start("tensor_stars")
    duel(game, 9, 0, YELLOW)
    assert spaces(game)[YELLOW] == (0, 4) and game.to_dict()["phase"] == COMMIT
    assert game.to_dict()["mover"] == -1
    game = start("tensor_stars", position(hands=49, turn=2, hand=[[0] * 6 + [1] * 4] * 2))
    place(game, (6, 7, 8), (6, 7, 9))
    assert spaces(game)[YELLOW] == (3, 3) and game.truncated
    assert game.to_dict()["mover"] == -1


@pytest.mark.parametrize(("rules", "white", "winner"), [({}, 0, BLACK), (OWN_BY_SIDE, 4, WHITE)])
def test_mover_of_a_piece_that_has_won(start: Start, rules: dict[str, Any], white: int, winner: int) -> None:
    """Check that the game ends while the piece is resolving."""
    game = start("tensor_stars", position(red=(6, 2)), **rules)
    duel(game, 7, white)
    assert_won(game, winner)
    assert game.to_dict()["mover"] == BLACK


@pytest.mark.parametrize(
    "config", [{"points": 3}, {"board": {"walls": []}}, {"deck": [{"number": 0, "parts": ["T1"], "colour": 0}] * 10}]
)
def test_unknown_fields(start: Start, config: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument|has no (rule )?field"):
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
        {"deck": deck_with()[:9]},
        {"deck": deck_with(None, None, {"parts": ["T1"]})},
        {"deck": deck_with({"parts": ["U1"]})},
        {"deck": deck_with({"parts": ["A0"]})},
        {"deck": deck_with({"parts": []})},
        {"deck": deck_with({"parts": ["A1", "T1", "A1"]})},
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
    fault = "must (be|have|run)|need |a card has one part|a line runs straight|are different spaces"
    with pytest.raises(ValueError, match=fault):
        start("tensor_stars", **config)
