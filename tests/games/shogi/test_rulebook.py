"""Shogi: the rules as worked cases, played on every engine of the game."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.games.shogi import notation
from tensor_envs.games.shogi.render import LETTER
from tensor_envs.render.grids import INK
from tests.games.shared import shared_env

GAME = "shogi"
Start = Callable[..., Any]
LONE = "9/9/9/9/9/9/9/9/"  # eight empty ranks


def usi(game: Any, files: int) -> dict[str, int]:
    """Return the legal actions of a game by their names in the Universal Shogi Interface."""
    rules = shared_env(GAME, files=files).rules
    position, _ = notation.parse(rules, game.to_dict()["sfen"])
    pieces = rules.board.seen_by(position.player, position.pieces)
    fields = rules.board.fields_of(pieces) | {"current_player": position.player}
    return {notation.move_to_string(rules, action, fields): action for action in game.legal_actions()}


def play(game: Any, moves: str, files: int = 9) -> Any:
    for move in moves.split():
        game.apply(usi(game, files)[move])
    return game


def targets(game: Any, start: str, files: int = 9) -> set[str]:
    return {name[len(start) :] for name in usi(game, files) if name.startswith(start)}


@pytest.mark.parametrize(("files", "moves"), [(9, 30), (5, 14), (3, 4)])
def test_s1_the_start(start: Start, files: int, moves: int) -> None:
    game = start(GAME, files=files)
    assert len(game.legal_actions()) == moves
    assert game.to_dict()["sfen"].endswith(" b - 1")


# a position, from where, and where the piece may go
MOVES = {
    "pawn": ("4k4/9/9/4p4/4P4/9/9/9/4K4 b - 1", "5e", "5d"),
    "pawn of White": ("4k4/9/9/4p4/9/9/9/9/4K4 w - 1", "5d", "5e"),
    "lance": ("4k4/9/9/9/8p/9/9/8L/4K4 b - 1", "1h", "1g 1f 1e"),
    "knight": ("4k4/9/9/9/9/9/9/7N1/4K4 b - 1", "2h", "1f 3f"),
    "silver": ("4k4/9/9/9/2S6/9/9/9/4K4 b - 1", "7e", "7d 8d 6d 8f 6f"),
    "gold": ("4k4/9/9/9/2G6/9/9/9/4K4 b - 1", "7e", "7d 8d 6d 8e 6e 7f"),
    "tokin of White": ("4k4/9/9/9/2+p6/9/9/9/4K4 w - 1", "7e", "7f 8f 6f 8e 6e 7d"),
    "bishop": ("4k4/9/9/1p7/2B6/3P5/9/9/4K4 b - 1", "7e", "8d 8f 9g 6d 5c 5c+ 4b 4b+ 3a 3a+"),
    "horse": ("4k4/9/9/1p7/2+B6/3P5/9/9/4K4 b - 1", "7e", "8d 8f 9g 6d 5c 4b 3a 7d 7f 8e 6e"),
    "rook": ("4k4/2p6/9/9/PRs6/9/9/1P7/4K4 b - 1", "8e", "8d 8c 8c+ 8b 8b+ 8a 8a+ 8f 8g 7e"),
    "dragon": ("4k4/9/9/9/P+Rp6/1P7/9/9/4K4 b - 1", "8e", "8d 8c 8b 8a 7e 9d 7d 9f 7f"),
    "king": ("4k4/9/9/9/9/9/4r4/9/3K5 b - 1", "6i", "6h 7h 7i"),
    "pinned": ("4k4/4r4/9/9/9/4G4/9/9/4K4 b - 1", "5f", "5e 5g"),
}


@pytest.mark.parametrize("case", MOVES)
def test_s2_moves(start: Start, case: str) -> None:
    sfen, square, to = MOVES[case]
    assert targets(start(GAME, {"sfen": sfen}), square) == set(to.split())


def test_s3_captured_pieces_are_dropped(start: Start) -> None:
    game = start(GAME, {"sfen": "4k4/9/9/9/4+p4/4G4/9/9/4K4 b - 1"})
    play(game, "5f5e 5a4a")
    assert game.to_dict()["sfen"] == "5k3/9/9/9/4G4/9/9/9/4K4 b P 3"
    play(game, "P*6d")
    assert game.to_dict()["sfen"] == "5k3/9/9/3P5/4G4/9/9/9/4K4 w - 4"


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (9, {"7f up": 9 * 6 + 5, "1a down": 5 * 81, "5c jump left": 8 * 81 + 38, "2b promote up right": 12 * 81 + 10}),
        (9, {"P*1a": 20 * 81, "G*9i": 27 * 81 - 1}),
        (5, {"1a promote up": 8 * 25, "P*1a": 16 * 25, "G*5e": 524}),
        (3, {"3d down right": 7 * 12 + 11, "C*1a": 96, "G*3d": 131}),
    ],
)
def test_s4_numbers(files: int, names: dict[str, int]) -> None:
    names_of_all = shared_env(GAME, files=files).action_names
    assert {name: names_of_all.index(name) for name in names} == names


def test_s4_the_most_legal_moves(start: Start) -> None:
    game = start(GAME, {"sfen": "R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1"})
    assert len(game.legal_actions()) == shared_env(GAME).spec.max_legal == 593


# Pieces that may and must promote
PROMOTIONS = {
    "into the zone": ("4k4/9/9/1S7/9/9/9/9/4K4 b - 1", "8d8c", "8d8c 8d8c+"),
    "out of it": ("4k4/9/1S7/9/9/9/9/9/4K4 b - 1", "8c9d", "8c9d 8c9d+"),
    "before it": ("4k4/9/9/9/1S7/9/9/9/4K4 b - 1", "8e8d", "8e8d"),
    "gold": ("4k4/9/9/1G7/9/9/9/9/4K4 b - 1", "8d8c", "8d8c"),
    "pawn on the last rank": ("5k3/1P7/9/9/9/9/9/9/4K4 b - 1", "8b", "8b8a+"),
    "lance": ("5k3/9/1L7/9/9/9/9/9/4K4 b - 1", "8c", "8c8b 8c8b+ 8c8a+"),
    "knight": ("5k3/9/9/1N7/9/9/9/9/4K4 b - 1", "8d", "8d7b+ 8d9b+"),
    "knight before": ("5k3/9/9/9/1N7/9/9/9/4K4 b - 1", "8e", "8e7c 8e7c+ 8e9c 8e9c+"),
    "White": ("4k4/9/9/9/9/9/9/1p7/5K3 w - 1", "8h", "8h8i+"),
}


@pytest.mark.parametrize("case", PROMOTIONS)
def test_s5_promotion(start: Start, case: str) -> None:
    sfen, beginning, names = PROMOTIONS[case]
    found = usi(start(GAME, {"sfen": sfen}), 9)
    assert {name for name in found if name.startswith(beginning)} == set(names.split())


def test_s5_dead_drops(start: Start) -> None:
    game = start(GAME, {"sfen": "4k4/9/9/9/9/9/9/9/4K4 b PLN 1"})
    drops = {(name[0], name[3]) for name in usi(game, 9) if "*" in name}
    assert ("P", "a") not in drops and ("L", "a") not in drops and ("P", "b") in drops and ("L", "b") in drops
    assert ("N", "a") not in drops and ("N", "b") not in drops and ("N", "c") in drops


def test_s6_two_pawns(start: Start) -> None:
    game = start(GAME, {"sfen": "4k4/9/9/9/9/P+P1p5/9/9/4K4 b P 1"})
    assert {name[2] for name in usi(game, 9) if name.startswith("P*")} == set("12345678")


@pytest.mark.parametrize(
    ("sfen", "square", "allowed"),
    [
        ("3sks3/9/3G1G3/9/9/9/9/9/4K4 b P 1", "5b", True),  # the silvers take
        ("3lkl3/9/3G1G3/9/9/9/9/9/4K4 b P 1", "5b", False),
        ("3lkl3/9/3G1G3/9/9/8b/9/9/4K4 b P 1", "5b", False),
        ("3lkl3/1r7/3G1G3/9/9/9/9/9/4K4 b P 1", "5b", True),  # the rook takes
        ("3nkl3/9/3G1G3/9/9/9/9/9/4K4 b P 1", "5b", False),
        ("4kl3/9/3G1G3/9/9/9/9/9/4K4 b P 1", "5b", True),  # the king goes to 6a
        ("3lkl3/9/9/3G1G3/9/9/9/9/4K4 b P 1", "5b", True),  # the king takes
    ],
)
def test_s7_mate_by_a_dropped_pawn(start: Start, sfen: str, square: str, allowed: bool) -> None:
    assert (f"P*{square}" in usi(start(GAME, {"sfen": sfen}), 9)) == allowed


def test_s7_a_pawn_stops_a_rook(start: Start) -> None:
    """A rook beside the square guards beyond it no more once the pawn is there."""
    open_file = start(GAME, {"sfen": "3l1l3/4k4/R8/3G5/9/9/9/9/4K4 b P 1"})
    assert "P*5c" in usi(open_file, 9)


def test_s7_a_move_of_a_pawn_may_give_mate(start: Start) -> None:
    game = start(GAME, {"sfen": "3lkl3/9/3GPG3/9/9/9/9/9/4K4 b - 1"})
    play(game, "5c5b")
    assert game.terminated and game.rewards == [1, -1]


def test_s8_mate_and_no_move(start: Start) -> None:
    game = play(start(GAME, {"sfen": "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"}), "G*5b")
    assert game.terminated and game.rewards == [1, -1]
    game = play(start(GAME, {"sfen": "k8/2+R6/1S7/9/9/9/9/9/4K4 b - 1"}), "7b7a")
    assert game.terminated and game.rewards == [1, -1]


@pytest.mark.parametrize(
    ("sfen", "moves", "rewards"),
    [
        ("1l1/3/1C1/1L1 b - 1", "2c2b 2a2b", None),
        ("1l1/1C1/3/1L1 b - 1", "2b2a", [1, -1]),  # caught
        ("2l/L2/3/3 b - 1", "3b3a", [1, -1]),  # safe
        ("1l1/L2/3/3 b - 1", "3b3a", None),
        ("1l1/L2/3/3 b - 1", "3b3a 2a3a", [-1, 1]),
        ("1l1/L2/3/3 b - 1", "3b3a 2a2b", [1, -1]),  # not caught
        ("3/l1L/3/3 b - 1", "1b1a", [1, -1]),
        ("1l1/3/3/L2 w - 1", "2a2b 3d3c 2b1c 3c3b 1c1d", [-1, 1]),
    ],
)
def test_s9_the_lion(start: Start, sfen: str, moves: str, rewards: list[int] | None) -> None:
    game = start(GAME, {"sfen": sfen}, files=3)
    for move in moves.split():
        assert not game.terminated
        play(game, move, 3)
    assert game.terminated == (rewards is not None) and game.rewards == (rewards or [0, 0])


def test_s5_chicks(start: Start) -> None:
    game = start(GAME, {"sfen": "2l/C2/3/L2 b C 1"}, files=3)
    assert "C*2a" in usi(game, 3)
    play(game, "3b3a 1a1b", 3)
    assert game.to_dict()["sfen"] == "+C2/2l/3/L2 b C 3"
    assert targets(game, "3a", 3) == {"2a", "3b"}
    play(game, "C*1a 1b2a", 3)  # the chick on the last rank cannot move
    assert game.to_dict()["sfen"] == "+ClC/3/3/L2 b - 5" and targets(game, "1a", 3) == set()


@pytest.mark.parametrize(
    ("files", "moves", "times", "rewards"),
    [
        (9, "5i5h 5a5b 5h5i 5b5a", 3, [0, 0]),
        (5, "4e4d 2a2b 4d4e 2b2a", 3, [-1, 1]),
        (3, "1d1c 3a3b 1c1d 3b3a", 2, [0, 0]),
    ],
)
def test_s10_repetition(start: Start, files: int, moves: str, times: int, rewards: list[int]) -> None:
    game = start(GAME, files=files)
    for _ in range(times):
        assert not game.terminated
        play(game, moves, files)
    assert game.terminated and game.rewards == rewards


def test_s10_the_window(start: Start) -> None:
    game = start(GAME, files=3, window=8)
    play(game, "1d1c 3a3b 1c1d 3b3a 1d1c 3a3b 1c1d 3b3a", 3)
    assert not game.terminated  # the first position is eight plies ago
    game = start(GAME, files=3, window=9)
    play(game, "1d1c 3a3b 1c1d 3b3a 1d1c 3a3b 1c1d 3b3a", 3)
    assert game.terminated


@pytest.mark.parametrize("checker", (0, 1))
def test_s11_perpetual_check(start: Start, checker: int) -> None:
    """A rook checks a king on two files until the position occurs for the fourth time."""
    sfen, moves = (("k4/5/5/5/R3K w - 1", "5a4a 5e4e 4a5a 4e5e"), ("2k1r/5/5/5/4K b - 1", "1e2e 1a2a 2e1e 2a1a"))[
        checker
    ]
    game = start(GAME, {"sfen": sfen}, files=5)
    for _ in range(3):
        assert not game.terminated
        play(game, moves, 5)
    assert game.terminated and game.rewards == ([-1, 1] if checker == 0 else [1, -1])


def test_s12_observation(start: Start) -> None:
    game = start(GAME, {"sfen": "4k4/9/9/9/9/9/9/9/4K4 w 2Pr3p 1"})
    black, white = game.observation(0), game.observation(1)
    assert black[7][4][8] and white[7][4][8] and black[14 + 7][4][0]  # both see their king below
    assert [plane[0][0] for plane in black[28:33]] == [0, 1, 0, 0, 0]  # two pawns
    assert [plane[0][0] for plane in white[28:33]] == [1, 1, 0, 0, 0]
    assert not any(plane[0][0] for plane in black[33:49]) and black[74] != white[74]
    assert [plane[0][0] for plane in black[70:75]] == [1, 0, 0, 0, 0]


def test_s13_dictionaries() -> None:
    env = shared_env("minishogi")
    earlier = ["rbsgk/4p/5/P4/KGSBR b -"]
    state = env.state_from_dicts(
        ["r1s1k/2b1g/5/r1G1B/KPS2 b p", {"sfen": "rbsgk/4p/P4/5/KGSBR w - 2", "earlier": earlier}]
    )
    assert env.state_to_dict(state, 0) == {"sfen": "r1s1k/2b1g/5/r1G1B/KPS2 b p 1", "earlier": [], "checks": [0, 1]}
    assert env.state_to_dict(state, 1)["earlier"] == earlier


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("4k4/9/9 b - 1", "sfen must have 9 ranks"),
        (f"{LONE}4K4 b - 1", "one king of either side"),
        ("4k4/9/9/9/9/9/9/9/4K4 x - 1", "b or w to move"),
        ("4k4/9/9/9/9/9/9/9/4K4 b X 1", "pieces PLNSBRG in hand"),
        ("4k4/9/9/9/9/9/9/9/4K4 b 3R 1", "at most 2 of R, got 3"),
        ("4k4/9/9/9/9/9/9/9/4K4 b - 0", "a move's number in 1..513"),
        ("4k4/9/9/9/9/9/9/9/4K4 b", "four words"),
        ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "no P on its last 1 ranks"),
        ("4k4/9/9/P8/P8/9/9/9/4K4 b - 1", "at most one P on a file"),
        ("4k4/9/9/4R4/9/9/9/9/4K4 b - 1", "must not be attacked"),
        ("4k4/9/9/4+G4/9/9/9/9/4K4 b - 1", "sfen must have 9 ranks"),
        ({"sfen": "4k4/9/9/9/9/9/9/9/4K4 b - 1", "checks": [0, 2]}, "checks must count"),
        ({"sfen": f"4k4/{LONE[2:]}4K4 b - 1", "earlier": [f"4k4/{LONE[2:]}4K4 w -"] * 63}, "at most 62 positions"),
        ({"sfen": f"4k4/{LONE[2:]}4K4 b - 1", "earlier": [f"4k4/{LONE[2:]}4K4 w -"]}, "none follows on"),
        ({"sfen": f"4k4/{LONE[2:]}4K4 b - 1", "earlier": [f"4k4/{LONE[2:]}5K3 w -"]}, "none follows on"),
        ({"sfen": f"4k4/{LONE[2:]}4K4 b P 1", "earlier": [f"3k5/{LONE[2:]}4K4 w -"]}, "none follows on"),
        # a rook askew and through a pawn, a gold that jumps, a pawn that promotes at home, and a lance back
        ({"sfen": "4k4/9/9/9/9/9/2R6/9/4K4 w - 2", "earlier": ["4k4/9/9/9/9/9/9/R8/4K4 b -"]}, "none follows on"),
        ({"sfen": "4k4/9/9/9/9/R8/P8/9/4K4 w - 2", "earlier": ["4k4/9/9/9/9/9/P8/R8/4K4 b -"]}, "none follows on"),
        ({"sfen": "4k4/9/9/9/9/G8/9/9/4K4 w - 2", "earlier": ["4k4/9/9/9/9/9/9/G8/4K4 b -"]}, "none follows on"),
        ({"sfen": "4k4/9/9/9/9/+P8/9/9/4K4 w - 2", "earlier": ["4k4/9/9/9/9/9/P8/9/4K4 b -"]}, "none follows on"),
        ({"sfen": "4k4/9/9/l8/9/9/9/9/4K4 b - 2", "earlier": ["4k4/9/9/9/l8/9/9/9/4K4 w -"]}, "none follows on"),
        ({"sfen": f"4k4/{LONE[2:]}4K4 b - 1", "earlier": [7]}, "sfen must be of type str"),
        ({"sfen": 7}, "sfen must be of type str"),
    ],
)
def test_s13_impossible_positions(wrong: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shared_env(GAME).state_from_dicts([wrong])


@pytest.mark.parametrize(
    ("fields", "error"),
    [({"files": 4}, ValueError), ({"files": 8}, ValueError), ({"files": "9"}, TypeError), ({"window": 0}, ValueError),
     ({"window": 514}, ValueError), ({"window": 2.0}, TypeError)],
)  # fmt: skip
def test_s14_impossible_fields(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=rf"^{next(iter(fields))} must be"):
        te.make(GAME, **fields)


def test_s15_names() -> None:
    env = shared_env("minishogi")
    state = env.state_from_dicts(["4k/R4/5/5/K4 b p 1", "4k/5/5/r4/2K2 w - 1"])
    for row, names in enumerate((["5b5a", "5b5a+"], ["5d5e", "5d5e+"])):
        assert set(names) <= set(env.legal_actions(state, row).values())
    text = env.to_string(state, 0).splitlines()
    assert text[:3] == [" 5  4  3  2  1", " .  .  .  .  k a", " R  .  .  .  . b"]
    assert text[-4:] == ["Black: -", "White: P", "Black to move", "4k/R4/5/5/K4 b p 1"]


def test_s15_names_lead_back_to_their_actions() -> None:
    env = shared_env("minishogi")
    state = env.init(2, seed=2)
    promotions = 0
    for _ in range(16):
        for row in np.flatnonzero(~te.to_numpy(state.terminated)).tolist():
            names = env.legal_actions(state, row)
            promotions += sum(name.endswith("+") for name in names.values())
            assert {env.string_to_action(name, state, row): name for name in names.values()} == names
        state = env.step(state, te.agents.uniform(state))
    assert promotions > 5


READ_AS_PROMOTION = (
    "2b2a+",
    "2b-2a+",
    "S-2a+",
    "2b2a promotes",
    "2b2a, and promote",
    "promote 2b2a",
    "Promotion by 2b2a",
)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        *((answer, "2b2a+") for answer in READ_AS_PROMOTION),
        *((text, "2b2a") for text in ("2b2a", "2b2a=", "S-2a", "2b2a!")),
    ],
)
def test_s15_promotions_in_answers(answer: str, name: str) -> None:
    env = shared_env("minishogi")
    state = env.state_from_dicts(["k4/3S1/5/5/K4 b - 1"])
    for text in (f"move: {answer}", answer):
        assert env.legal_actions(state)[te.text.parse(env, text, state)] == name
    if answer[0].isdecimal() and " " not in answer:
        assert env.legal_actions(state)[env.string_to_action(answer, state)] == name


@pytest.mark.parametrize("answer", ["5d5c+", "P-5c+", "5d5c promotes"])
def test_s15_illegal_promotions(answer: str) -> None:
    env = shared_env("minishogi")
    with pytest.raises(te.text.IllegalMove, match="is not legal; legal moves are"):
        te.text.parse(env, f"move: {answer}", env.init(1))
    with pytest.raises(ValueError, match="no legal action of 'minishogi' is called"):
        env.string_to_action(answer, env.init(1))


def test_s15_records_keep_promotions() -> None:
    env = shared_env("minishogi")
    record = te.record(env, ["2e5b", "1b1c", "3e4d", "1c1d", "4d3e", "1d1e+"])
    assert str(env.state_to_dict(te.replay(record))["sfen"]) == "rbsgk/B4/5/P4/KGS1+p b r 7"


@pytest.mark.parametrize(("name", "pieces"), [("shogi", 40), ("minishogi", 12), ("animal_shogi", 8)])
def test_letters_of_pieces_stay_dark_in_the_dark(name: str, pieces: int) -> None:
    """A page makes labels light in the dark; pieces keep their colours, so that their letters must."""
    env = te.make(name)
    picture = str(env.render(env.init(1)))
    assert picture.count(f'fill="{LETTER}"') == pieces and LETTER != INK
