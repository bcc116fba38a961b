"""Go: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tests.games.chance import policy_key, uniform_action

GAME = "go"
Start = Callable[..., Any]
SIGNS = {"X": 1, "O": -1, ".": 0, "*": 2}


def drawn(picture: str, player: int = 0, passed: bool = False) -> dict[str, Any]:
    """Return a position drawn as text, row 1 first: X is black, O white, * an empty point that a ko closes."""
    board = [SIGNS[stone] for stone in "".join(picture.split())]
    return {"board": board, "current_player": player, "passed": passed}


def test_g1_g4_the_start(start: Start) -> None:
    game = start(GAME)
    assert game.to_dict() == {"board": [0] * 81, "current_player": 0, "passed": False}
    assert game.legal_actions() == list(range(82)) and not game.terminated and not game.truncated


# a position, where black plays, and the position after that
MOVES = {
    "nothing taken": ("... .O. ...", 0, "X.. .O. ..."),
    "a stone in the corner": ("O... X... .... ....", 1, ".X.. X... .... ...."),
    "two stones": ("XOO. .XX. .... ....", 3, "X..X .XX. .... ...."),
    "groups on both sides": ("XO.O .X.X .... ....", 2, "X.X. .X.X .... ...."),
    "a big one from inside": ("XXXXX XOOOX XO.OX XOOOX XXXX.", 12, "XXXXX X...X X.X.X X...X XXXX."),
}


@pytest.mark.parametrize("case", MOVES)
@pytest.mark.parametrize("player", (0, 1))
def test_g2_g3_stones_are_taken(start: Start, case: str, player: int) -> None:
    before, point, after = MOVES[case]
    if player:
        swap = str.maketrans("XO", "OX")
        before, after = before.translate(swap), after.translate(swap)
    game = start(GAME, drawn(before, player), size=len(before.split()))
    game.apply(point)
    assert game.to_dict()["board"] == drawn(after)["board"] and game.current_player == 1 - player
    assert not game.terminated and game.rewards == [0, 0]


# a position, and where black may not play
SUICIDES = {
    "one point": (".O.. O... .... ....", [0]),
    "with a group": ("X.O. OO.. .... ....", [1]),
    "a group that keeps a liberty": ("X.O. .O.. O... ....", []),
    "a group with another liberty": (".X.. OX.. .O.. ....", []),
    "to take is no suicide": (".OX. OX.. X... ....", []),
    "two eyes": (".O.O OOOO .... ....", [0, 2]),
}


@pytest.mark.parametrize("case", SUICIDES)
def test_g4_suicide(start: Start, case: str) -> None:
    picture, closed = SUICIDES[case]
    game = start(GAME, drawn(picture), size=4)
    empty = [point for point, stone in enumerate(game.to_dict()["board"]) if stone == 0]
    assert game.legal_actions() == [*(point for point in empty if point not in closed), 16]


def test_g5_ko(start: Start) -> None:
    game = start(GAME, drawn(".XO. XO.O .XO. ....", player=0), size=4)
    game.apply(6)  # takes one stone, with white all round
    assert game.to_dict()["board"] == drawn(".XO. X*XO .XO. ....")["board"] and 5 not in game.legal_actions()
    with pytest.raises(ValueError, match="action 5 is illegal"):
        game.apply(5)
    game.apply(15)
    game.apply(12)
    assert 5 in game.legal_actions() and 2 not in game.to_dict()["board"]
    game.apply(5)
    assert game.to_dict()["board"] == drawn(".XO. XO*O .XO. X..O")["board"]
    game.apply(16)  # a pass opens it as well
    assert 2 not in game.to_dict()["board"]


def test_g5_two_stones_taken_are_no_ko(start: Start) -> None:
    game = start(GAME, drawn("XOO. .XXO ...O ....", player=0), size=4)
    game.apply(3)
    assert game.to_dict()["board"] == drawn("X..X .XXO ...O ....")["board"] and 2 in game.legal_actions()


def test_g5_a_stone_with_a_friend_is_no_ko(start: Start) -> None:
    game = start(GAME, drawn("XO.X .XXO .... ....", player=0), size=4)
    game.apply(2)
    assert game.to_dict()["board"] == drawn("X.XX .XXO .... ....")["board"]


@pytest.mark.parametrize("superko", (0, 1, 2))
def test_g5_sending_two_returning_one(start: Start, superko: int) -> None:
    """Check the cycle: black adds a second stone, white captures both with one, and black recaptures it."""
    past = {"history": [0] * 16 * superko} if superko else {}
    game = start(GAME, drawn(".X.X OOX. .... ....") | past, size=4, superko=superko)
    game.apply(0)
    game.apply(2)
    assert game.to_dict()["board"] == drawn("..OX OOX. .... ....")["board"]
    assert (1 in game.legal_actions()) == (superko < 2)


def test_g5_superko(start: Start) -> None:
    """Check the superko on the boards that a ko would repeat, and the observation of closed points."""
    past = [0] * 32
    game = start(GAME, drawn(".XO. XO.O .XO. ....") | {"history": past}, size=4, superko=2)
    game.apply(6)
    first, second = drawn(".XO. XO.O .XO. ....")["board"], drawn(".XO. X.XO .XO. ....")["board"]
    assert game.to_dict()["board"] == second and game.to_dict()["history"] == first + [0] * 16
    assert 5 not in game.legal_actions() and game.observation(1)[2] == [
        [r * 4 + c == 5 for c in range(4)] for r in range(4)
    ]
    game.apply(16)
    game.apply(16)
    assert game.terminated


# rows, komi, and what black gets
ENDS = {
    "an empty board": ("... ... ...", 0.0, 0),
    "komi": ("... ... ...", 0.5, -1),
    "all points are black's": (".X. ... ...", 7.5, 1),
    "areas": (".XO .XO .X.", 0.0, 1),
    "areas and komi": (".XO .XO .X.", 4.5, -1),
    "a draw by komi": (".XO .XO .X.", 4.0, 0),
    "a region of both is nobody's": ("X.O ... ...", 0.0, 0),
    "white for once": ("OOO O.O OX.", -1.5, -1),
}


@pytest.mark.parametrize("case", ENDS)
def test_g6_g7_ends(start: Start, case: str) -> None:
    picture, komi, result = ENDS[case]
    game = start(GAME, drawn(picture), size=3, komi=komi)
    game.apply(9)
    assert not game.terminated and game.to_dict()["passed"] and game.rewards == [0, 0]
    game.apply(9)
    assert game.terminated and not game.truncated and game.rewards == [result, -result]
    assert game.legal_actions() == []


def test_g6_passes_must_follow_each_other(start: Start) -> None:
    game = start(GAME, size=3)
    for action in (9, 0, 9, 1, 9):
        game.apply(action)
    assert not game.terminated
    game.apply(9)
    assert game.terminated


def test_g8_the_limit(start: Start) -> None:
    game = start(GAME, size=3, max_plies=3, komi=0.5)
    for action in (4, 0, 8):
        assert not game.terminated
        game.apply(action)
    assert game.terminated and not game.truncated and game.rewards == [1, -1]


def test_g9_observation(start: Start) -> None:
    game = start(GAME, drawn("X* .O", player=0), size=2)
    none, every = [[0, 0], [0, 0]], [[1, 1], [1, 1]]
    black, white, ko = [[1, 0], [0, 0]], [[0, 0], [0, 1]], [[0, 1], [0, 0]]
    assert game.observation(0) == [black, white, ko, none, every]
    assert game.observation(1) == [white, black, ko, none, none]
    game.apply(4)
    assert game.observation(1) == [white, black, none, every, none]


@pytest.mark.parametrize(
    ("fields", "error"),
    (
        ({"size": 0}, ValueError),
        ({"size": 20}, ValueError),
        ({"komi": 0.3}, ValueError),
        ({"komi": 362}, ValueError),
        ({"komi": float("nan")}, ValueError),
        ({"komi": "7"}, TypeError),
        ({"max_plies": 0}, ValueError),
        ({"superko": 65}, ValueError),
        ({"superko": True}, TypeError),
    ),
)
def test_g10_impossible_fields(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^(size|komi|max_plies|superko) must be"):
        te.make(GAME, **fields)


@pytest.mark.parametrize(
    "wrong",
    (drawn("XO OX"), drawn("X* *."), drawn("X..."[:3]), drawn("X...", 2), drawn("X...") | {"passed": 1}),
    ids=str,
)
def test_g11_impossible_positions(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is no state of 'go': (every group|board|current_player|passed)"):
        te.make(GAME, size=2).state_from_dicts([wrong])


def test_g12_names() -> None:
    env = te.make(GAME, size=19)
    assert [env.action_to_string(a) for a in (0, 1, 7, 8, 19, 360, 361)] == [
        "A1",
        "B1",
        "H1",
        "J1",
        "A2",
        "T19",
        "pass",
    ]


def test_g13_the_board_may_be_turned_and_mirrored(start: Start) -> None:
    for number, image in enumerate((lambda r, c: (c, 4 - r), lambda r, c: (r, 4 - c), lambda r, c: (c, r))):
        game, other, ply = start(GAME, size=5), start(GAME, size=5), 0

        def mapped(action: int, image: Any = image) -> int:
            row, column = image(*divmod(action, 5))
            return 25 if action == 25 else 5 * row + column

        while not game.terminated:
            action = uniform_action(policy_key(number, 0), ply, game.legal_actions())
            game.apply(action)
            other.apply(mapped(action))
            ply += 1
            assert other.legal_actions() == sorted(map(mapped, game.legal_actions()))
        assert other.terminated and other.rewards == game.rewards
