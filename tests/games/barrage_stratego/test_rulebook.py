"""Barrage Stratego: the rules as worked cases, played on every engine of the game."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.games.barrage_stratego import notation, render
from tensor_envs.games.barrage_stratego.rules import BarrageStratego

GAME = "barrage_stratego"
Start = Callable[..., Any]
ORDER = "FBSCCMGL"  # flag, bomb, spy, scouts, miner, general, marshal


def square(name: str) -> int:
    return 10 * (int(name[1:]) - 1) + "abcdefghij".index(name[0])


def action(name: str, player: int = 0) -> int:
    """Return the number of a placement "a1" or a move "a1a2", by the names that Red sees."""
    middle = next(k for k in range(1, len(name) + 1) if k == len(name) or name[k].isalpha())
    start, end = (99 - square(end) if player else square(end) for end in (name[:middle], name[middle:] or name))
    if middle == len(name):
        return start
    up, right = (end // 10 - start // 10) % 10, (end % 10 - start % 10) % 10
    return 40 + 100 * (up - 1 if up else 8 + right) + start


def position(red: str, blue: str, player: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a position of pieces such as "La4"; others are captured, "+" follows those that the opponent knows."""
    state: dict[str, Any] = {"squares": [], "moved": [], "shown": []}
    for owner, text in enumerate((red, blue)):
        squares, moved, shown = [-1] * 8, [0] * 8, [1] * 8
        for piece in text.split():
            k = ORDER.index(piece[0])
            k += piece[0] == "C" and squares[k] >= 0
            at = square(piece[1:].rstrip("+"))
            squares[k] = 99 - at if owner else at
            moved[k] = int(piece[0] not in "FB")
            shown[k] = int(piece.endswith("+"))
        for name, row in (("squares", squares), ("moved", moved), ("shown", shown)):
            state[name].append(row)
    state |= {"placed": 16, "back": [-1, -1], "times": [0, 0], "quiet": 0, "current_player": player}
    return state | fields


def moves(game: Any, start: str) -> set[str]:
    """Return the ends of the legal moves from a square."""
    env = te.make(GAME)
    position = {"current_player": game.current_player}
    names = [notation.move_to_string(env.rules, number, position) for number in game.legal_actions()]
    return {name.removeprefix(start) for name in names if name.startswith(start) and name[len(start)].isalpha()}


def play(game: Any, text: str) -> Any:
    for name in text.split():
        game.apply(action(name, game.current_player))
    return game


def pieces(game: Any) -> dict[str, str]:
    """Return the letters of the pieces by the squares' names, Blue's in small letters, and "+" for known ones."""
    state = game.to_dict()
    found = dict[str, str]()
    for player, row in enumerate(state["squares"]):
        for k, (letter, at) in enumerate(zip(ORDER, row, strict=True)):
            if at >= 0:
                at = 99 - at if player else at
                name = "abcdefghij"[at % 10] + str(at // 10 + 1)
                found[name] = (letter.lower() if player else letter) + "+" * state["shown"][player][k]
    return found


SETUP = "a1 j10 b1 i10 c1 h10 d1 g10 e1 f10 f1 e10 g1 d10 h1 c10"


def test_b1_b3_the_set_up(start: Start) -> None:
    game = start(GAME)
    assert game.legal_actions() == [*range(40)] and game.current_player == 0
    play(game, "a1 j10 b1")
    assert game.current_player == 1 and game.legal_actions() == [*range(1, 40)]
    play(game, SETUP[9:])
    assert game.current_player == 0 and not game.terminated and game.to_dict()["placed"] == 16
    assert pieces(game) == {
        "a1": "F", "b1": "B", "c1": "S", "d1": "C", "e1": "C", "f1": "M", "g1": "G", "h1": "L",
        "j10": "f", "i10": "b", "h10": "s", "g10": "c", "f10": "c", "e10": "m", "d10": "g", "c10": "l",
    }  # fmt: skip
    assert moves(game, "c1") == {"c2"} and moves(game, "h1") == {"h2", "i1"} and not moves(game, "a1")


def test_b4_b5_numbers_of_actions(start: Start) -> None:
    game = start(GAME)
    game.apply(11)
    game.apply(11)
    assert pieces(game) == {"b2": "F", "i9": "f"}
    game = start(GAME, position("Fa1 Ld4", "Fj10 Lg7"))
    assert {40 + 100 * 9 + 33, 40 + 33, 40 + 100 * 8 + 33, 40 + 100 * 17 + 33} - {*game.legal_actions()} == {40 + 33}
    assert action("d4e4") == 40 + 100 * 9 + 33 and action("d4d3") == 40 + 100 * 8 + 33
    assert action("g7f7", 1) == 40 + 100 * 9 + 33 and action("g7g8", 1) == 40 + 100 * 8 + 33


def test_b6_pieces_move_to_the_next_square(start: Start) -> None:
    game = start(GAME, position("Fa1 Bj1 Lb4 Ga4 Me4", "Fj10 Le5"))
    assert moves(game, "b4") == {"b5", "b3", "c4"} and moves(game, "a4") == {"a5", "a3"}
    assert moves(game, "e4") == {"e5", "e3", "d4", "f4"} and not moves(game, "a1") and not moves(game, "j1")
    assert "d5" not in moves(start(GAME, position("Fa1 Le5", "Fj10 Lj9")), "e5")  # a lake


def test_b6_scouts_run(start: Start) -> None:
    game = start(GAME, position("Fa1 Ce4 Lb4", "Fj10 Le8 Cj9"))
    up = {"e5", "e6", "e7", "e8"}
    assert moves(game, "e4") == up | {"e3", "e2", "e1", "d4", "c4", "f4", "g4", "h4", "i4", "j4"}
    assert moves(start(GAME, position("Fa1 Cc4", "Fj10 Cj9")), "c4") == {
        "c3", "c2", "c1", "a4", "b4", "d4", "e4", "f4", "g4", "h4", "i4", "j4",
    }  # fmt: skip
    assert pieces(play(start(GAME, position("Fa1 Ce4", "Fj10 Cj9")), "e4e5"))["e5"] == "C"
    assert pieces(play(start(GAME, position("Fa1 Ce4", "Fj10 Cj9")), "e4e6"))["e6"] == "C+"
    assert pieces(play(start(GAME, position("Fa1 Ce4", "Fj10 Le8 Cj9")), "e4e8")) == {
        "a1": "F", "e8": "l+", "j10": "f", "j9": "c",
    }  # fmt: skip


FIGHTS = {  # attacker and defender: who stays
    "LG": "L", "GL": "L", "LL": "", "SL": "S", "LS": "L", "SG": "G", "GS": "G", "SS": "", "MB": "M", "CB": "B",
    "LB": "B", "SB": "B", "CM": "M", "MC": "M", "CS": "C", "SC": "C", "MG": "G", "GM": "G", "CC": "",
}  # fmt: skip


@pytest.mark.parametrize("player", (0, 1))
@pytest.mark.parametrize("pair", FIGHTS)
def test_b7_fights(start: Start, pair: str, player: int) -> None:
    attacker = pair[0]
    defender = pair[1]
    home, target = ("e4", "e3") if player else ("e7", "e8")  # where the owner of the target may have placed it
    armies = [f"{attacker}{home}", f"{defender}{target}"]
    red, blue = armies[::-1] if player else armies
    game = start(GAME, position(f"Fa1 {red}", f"Fj10 {blue}", player))
    play(game, home + target)
    stays = FIGHTS[pair]
    assert home not in pieces(game)
    assert pieces(game).get(target, "").upper() == (stays + "+" if stays else "")


def test_b8_the_fourth_move_to_and_fro_is_illegal(start: Start) -> None:
    game = start(GAME, position("Fa1 La4 Gj4", "Fj10 Lj7 Ga7"))
    play(game, "a4a5 j7j8 a5a4 j8j7 a4a5 j7j8")
    assert game.to_dict()["times"] == [3, 3] and "a4" not in moves(game, "a5")
    game = play(game, "j4j5 a7a8")
    assert "a4" in moves(game, "a5")
    state = position("Fa1 La4 Gj4", "Fj10 Lj7 Ga7")
    game = play(start(GAME, state, two_squares=False), "a4a5 j7j8 a5a4 j8j7 a4a5 j7j8")
    assert "a4" in moves(game, "a5") and game.to_dict()["back"] == [-1, -1]


def test_b8_an_attack_is_legal_and_ends_the_sequence(start: Start) -> None:
    game = start(GAME, position("Fa1 La4", "Fj10 Gb4 Cj7"))
    play(game, "a4a5 j7j8 a5a4 j8j7 a4a5 b4a4")
    assert "a4" in moves(game, "a5")
    play(game, "a5a4")
    assert pieces(game)["a4"] == "L+" and game.to_dict()["times"] == [0, 1]


def test_b8_a_scout_may_go_elsewhere_on_the_line(start: Start) -> None:
    game = start(GAME, position("Fa1 Ca2", "Fj10 Lj7 Gi7"))
    play(game, "a2a6 j7j8 a6a2 j8j7 a2a6 i7i8")
    assert "a2" not in moves(game, "a6") and {"a3", "a5"} <= moves(game, "a6")
    play(game, "a6a3 i8i7")
    assert game.to_dict()["times"][0] == 1 and "a6" in moves(game, "a3")


def test_b8_another_piece_on_the_square_is_no_return(start: Start) -> None:
    game = start(GAME, position("Fa1 La4 Gb4", "Fj10 Lj7"))
    play(game, "a4a5 j7j8 b4a4")
    assert game.to_dict()["times"][0] == 1


def test_b9_capturing_the_flag_wins(start: Start) -> None:
    game = play(start(GAME, position("Fa1 Sj9", "Fj10 La4", 0)), "j9j10")
    assert game.terminated and game.rewards == [1.0, -1.0] and pieces(game)["j10"] == "S+"
    game = play(start(GAME, position("Fa1 Sj9", "Fj10 La2", 1)), "a2a1")
    assert game.terminated and game.rewards == [-1.0, 1.0]


def test_b10_no_legal_move_loses(start: Start) -> None:
    game = play(start(GAME, position("Fa1 La4 Cb1", "Fj10 Ga5")), "a4a5")
    assert game.terminated and game.rewards == [1.0, -1.0]
    game = play(start(GAME, position("Fa1 La4", "Fj10 La5")), "a4a5")
    assert game.terminated and game.rewards == [1.0, -1.0] and pieces(game) == {"a1": "F", "j10": "f"}
    game = play(start(GAME, position("Fa1 La4", "Fj10 Bj9 Li10")), "a4a5")
    assert not game.terminated  # the marshal can still go


def test_b10_after_the_set_up(start: Start) -> None:
    none = dict.fromkeys(("spies", "scouts", "miners", "generals", "marshals"), 0)
    game = start(GAME, **none)
    for number in (0, 0, 1, 1):
        assert not game.terminated
        game.apply(number)
    assert game.terminated and game.rewards == [-1.0, 1.0]


def test_b11_quiet_plies(start: Start) -> None:
    game = play(start(GAME, position("Fa1 La4", "Fj10 Lj7", quiet=2), quiet_plies=4), "a4a5")
    assert not game.terminated
    play(game, "j7j8")
    assert game.terminated and game.rewards == [0.0, 0.0]
    game = play(start(GAME, position("Fa1 La4", "Fj10 Gj7 Ca5", quiet=3), quiet_plies=4), "a4a5")
    assert not game.terminated and game.to_dict()["quiet"] == 0


def test_b12_observation(start: Start) -> None:
    game = start(GAME, position("Fa1 La4+", "Fj10 Bi10 Lj7 Ce5+"))
    seen = game.observation(1)
    planes = {k: [10 * r + c for r in range(10) for c in range(10) if plane[r][c]] for k, plane in enumerate(seen)}
    assert (planes[0], planes[1], planes[6]) == ([0], [1], [30]) and planes[7] == [30, 55] and planes[8] == [55]
    assert planes[9 + 6] == [69] and planes[16] == [99] and not planes[17]
    full = [*range(100)]
    captured = [planes[k] == full for k in range(18, 26)]
    assert captured == [False, True, True, True, True, True, True, False]


def test_b13_dictionaries() -> None:
    env = te.make(GAME)
    good = position("Fa1 Ld4", "Fj10 Lg7")
    back = action("d4d5")
    wrong: list[tuple[dict[str, Any], str]] = [
        (position("Fa1 Ld4", "Fj10 Ld4"), "squares must be different"),
        (position("Fa1 Lc5", "Fj10 Lg7"), "squares must be different and in no lake"),
        (position("Fa5 Ld4", "Fj10 Lg7"), "squares must be in rows 1 to 4 before a move"),
        (position("Fa1 Ld4", "Lg7"), "squares must have the last mover's flag"),
        (position("Fa1+ Ld4", "Fj10 Lg7"), "shown must be 0 for a flag"),
        (good | {"moved": [[1] + [0] * 6 + [1], [0] * 7 + [1]]}, "moved must be 0 for the flag and bombs"),
        (good | {"shown": [[0] * 8, [0] * 8]}, "shown must be 1 for captured pieces"),
        (good | {"times": [1, 0]}, "back must be a move"),
        (good | {"back": [back, -1]}, "back must be a move"),
        (good | {"placed": 15}, "squares must be those placed so far"),
        (good | {"quiet": 201}, "quiet must be"),
        (good | {"current_player": 2}, "current_player must be"),
        ({name: entry for name, entry in good.items() if name != "back"}, "'back' missing"),
    ]
    for state, message in wrong:
        with pytest.raises(ValueError, match=message):
            env.state_from_dicts([state])
    with pytest.raises(ValueError, match="times must be 0 without two_squares"):
        te.make(GAME, two_squares=False).state_from_dicts([good | {"back": [back, -1], "times": [1, 0]}])
    setup = te.make(GAME).state_to_dict(te.make(GAME).init(1))
    with pytest.raises(ValueError, match="placed must be all pieces after a move, and Red begins"):
        env.state_from_dicts([setup | {"current_player": 1}])


def test_b13_views() -> None:
    """Check that unknown pieces are listed by their squares, and during the set-up not at all."""
    rules = BarrageStratego()
    game = position("Fa1 La4 Ce4+", "Fj10 Bi10 Lj7 Ce5+")
    view = render.seen_by(rules, game, 0)
    assert view["squares"][0] == game["squares"][0] and view["hidden"] == [[0] * 8, [1, 1, 0, 0, 0, 0, 0, 1]]
    swapped = position("Fa1 La4 Ce4+", "Fi10 Bj10 Lj7 Ce5+")
    assert render.seen_by(rules, swapped, 0) == view != render.seen_by(rules, swapped, 1)
    text = render.to_string(rules, view)
    assert "?" in text and "b" not in text.splitlines()[1] and "e c" not in text.splitlines()[1]
    assert render.actions_of(rules, view) and not render.actions_of(rules, render.seen_by(rules, game, 1))
    env = te.make(GAME)
    state = env.step(env.init(1), [5])
    hidden = env.state_to_dict(state, 0, player=1)
    assert hidden["squares"][0] == [-1] * 8 and env.state_to_dict(state, 0, player=0)["squares"][0][0] == 5
    assert render.visible_moves(rules, ["f1", "e10", "a1"], 1) == ["?", "e10", "?"]


def test_b14_names() -> None:
    env = te.make(GAME)
    state = env.state_from_dicts([position("Fa1 Ld4", "Fj10 Lg7", 1)])
    assert env.action_to_string(action("g7g8", 1), state) == "g7g8"
    assert env.string_to_action("g7g8", state) == action("g7g8", 1)
    assert notation.action_to_string(env.rules, 12) == "c2"


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"bombs": 4}, ValueError, "bombs must be in 0..3, got 4"),
        ({"scouts": -1}, ValueError, "scouts must be in 0..3, got -1"),
        ({"quiet_plies": 0}, ValueError, "quiet_plies must be in 1..255, got 0"),
        ({"quiet_plies": 256}, ValueError, "quiet_plies must be in 1..255, got 256"),
        ({"miners": 1.0}, TypeError, "miners must be an int"),
        ({"two_squares": 1}, TypeError, "two_squares must be of type bool, got 1"),
    ],
)
def test_b16_wrong_fields(fields: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        te.make(GAME, **fields)


def test_texts_of_results() -> None:
    rules = BarrageStratego(quiet_plies=4)
    cases = {
        "Red wins: the flag is captured": position("Fa1 Sj9+", "Lg7", 1),
        "Blue wins: no legal move": position("Fa1", "Fj10 Lg7", 0),
        "a draw: too many plies without a fight": position("Fa1 La4", "Fj10 Lg7", quiet=4),
        "Blue to move": position("Fa1 La4", "Fj10 Lg7", 1),
    }
    for text, state in cases.items():
        assert render.status(rules, state) == text
    assert render.scores(rules, cases["Blue to move"])[0] == "lost bomb spy scout scout miner general"
