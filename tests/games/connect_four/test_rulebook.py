"""Connect four: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "connect_four"
Start = Callable[..., Any]
DRAWN = "152420614622012112641436064560333303504555"  # columns of a game that fills the board without a line


def drawn(picture: str, player: int = 0) -> dict[str, Any]:
    """Return a position drawn as text, rows from the top: X and O are stones of the first and the second player."""
    board = [{"X": 1, "O": -1, ".": 0}[stone] for stone in "".join(picture.split())]
    return {"board": board, "current_player": player}


def play(game: Any, columns: str) -> None:
    for column in columns:
        assert not game.terminated and game.rewards == [0, 0]
        game.apply(int(column))


def test_c1_c2_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"board": [0] * 42, "current_player": 0}
    assert game.legal_actions() == list(range(7)) and not game.terminated and not game.truncated


def test_c1_c3_stones_fall_and_players_take_turns(start: Start) -> None:
    game = start(GAME, rows=3, columns=4, k=3)
    play(game, "303310")
    assert game.to_dict() == drawn("...O O..X OX.X")
    assert game.current_player == 0 and not game.terminated


def test_c2_a_full_column_is_closed(start: Start) -> None:
    game = start(GAME, rows=2, columns=5, k=4)
    play(game, "22")
    assert game.legal_actions() == [0, 1, 3, 4]


# a position, and the column by which X wins
WINS = {
    "a row": ("....... ....... ....... ....... ....... XXX.OOO", 3),
    "a gap in a row": ("....... ....... ....... ....... OO...O. XX.XOO.", 2),
    "a column": ("....... ....... ....... X...... XO..... XO.O...", 0),
    "a column at the right edge": ("....... ....... ......X ......X ......X .....OO", 6),
    "a column to the top": ("....... X...... X...... X...... O...... O......", 0),
    "a diagonal to the right": ("....... ....... ....... ..XO... .XOX... XOOO...", 3),
    "a diagonal to the left": ("....... ....... ....... OX..... XOX.... OOOX...", 0),
    "seven in a row": ("....... ....... ....... ....... ....... XXX.XXX", 3),
    "several lines": ("....... ....... XXX.... OXOX... XOOX... OXOX...", 3),
}
# a position, and a column by which X completes nothing
NO_LINES = {
    "three in a row": ("....... ....... ....... ....... ....... XX..OOO", 2),
    "a row round an edge": ("....... ....... ....... ....... ....XXX ....OOO", 0),
    "a diagonal round the right edge": ("....... ....X.. ....OX. ....OOX ....XOO ....XXO", 0),
    "a diagonal round the left edge": ("....... ..X.... .XO.... XOO.... OOX...O XXO...X", 6),
    "a column of both": ("....... ....... ....... X...... X...... O......", 0),
}
CASES = [(case, True) for case in WINS] + [(case, False) for case in NO_LINES]


@pytest.mark.parametrize(("case", "won"), CASES)
@pytest.mark.parametrize("player", (0, 1))
def test_c4_c5_lines(start: Start, case: str, won: bool, player: int) -> None:
    picture, column = (WINS if won else NO_LINES)[case]
    if player:
        picture = picture.translate(str.maketrans("XO", "OX"))
    game = start(GAME, drawn(picture, player))
    assert not game.terminated
    game.apply(column)
    assert game.terminated == won and not game.truncated and (game.legal_actions() == []) == won
    assert game.rewards == [0, 0] if not won else game.rewards == ([-1, 1] if player else [1, -1])
    assert game.current_player == 1 - player


def test_c5_a_full_board_is_a_draw(start: Start) -> None:
    game = start(GAME)
    play(game, DRAWN)
    assert game.terminated and not game.truncated and game.rewards == [0, 0] and game.legal_actions() == []


@pytest.mark.parametrize(("columns", "rewards"), (("021", [1, -1]), ("012", [0, 0])))
def test_c5_the_last_stone_may_win(start: Start, columns: str, rewards: list[int]) -> None:
    game = start(GAME, rows=1, columns=3, k=2)
    play(game, columns)
    assert game.terminated and game.rewards == rewards


@pytest.mark.parametrize(
    "fields",
    ({"rows": 0}, {"rows": 33}, {"columns": 0}, {"columns": 33}, {"k": 0}, {"k": 8}, {"rows": 3, "columns": 3}),
    ids=str,
)
def test_c6_impossible_fields(start: Start, fields: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"need sides in 1..32|(rows|columns|k) must be"):
        start(GAME, **fields)


def test_c6_k_1_is_won_by_the_first_stone(start: Start) -> None:
    game = start(GAME, rows=1, columns=1, k=1)
    game.apply(0)
    assert game.terminated and game.rewards == [1, -1]


def test_c7_observation(start: Start) -> None:
    game = start(GAME, drawn("..O .XX", player=1), rows=2, columns=3, k=3)
    first, second = [[0, 0, 0], [0, 1, 1]], [[0, 0, 1], [0, 0, 0]]
    assert game.observation(0) == [first, second]
    assert game.observation(1) == [second, first]


@pytest.mark.parametrize(
    ("picture", "over"), (("XXX OOO", True), ("... OOO", True), ("XOX OXO", True), ("XO. OXO", False))
)
def test_c8_the_end_is_read_off_the_board(start: Start, picture: str, over: bool) -> None:
    game = start(GAME, drawn(picture, player=1), rows=2, columns=3, k=3)
    assert game.terminated == over and not game.truncated and game.current_player == 1
    assert game.legal_actions() == ([] if over else [2])
    assert game.to_dict() == drawn(picture, player=1)


def test_c8_no_stone_floats(start: Start) -> None:
    with pytest.raises(ValueError, match=r"floats|must have a stone or the floor below each stone"):
        start(GAME, drawn("X.. .O."), rows=2, columns=3, k=3)


def test_c9_columns_are_written_from_1() -> None:
    assert [te.make(GAME).action_to_string(action) for action in range(7)] == list("1234567")


def test_c10_left_and_right_may_be_exchanged(start: Start) -> None:
    for seed in range(4):
        game, mirrored, ply = start(GAME), start(GAME), 0
        while not game.terminated:
            action = uniform_action(policy_key(seed, 0), ply, game.legal_actions())
            game.apply(action)
            mirrored.apply(6 - action)
            ply += 1
            assert mirrored.legal_actions() == sorted(6 - column for column in game.legal_actions())
            assert (mirrored.terminated, mirrored.rewards) == (game.terminated, game.rewards)
