"""Go and Hex as SGF: round trips over random games, files of other programs, errors, and sgfmill as a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.lockstep import BLOCK
from tests.games.shared import shared_env

GAMES: list[tuple[str, dict[str, Any]]] = [
    ("go", {"size": 5, "komi": 3.5}),
    ("go", {}),
    ("hex", {"size": 5}),
    ("hex", {}),
]


def random_games(env: te.Env, count: int, seed: int, first_row: int = 0) -> list[te.Record]:
    """Return records of whole games of the uniform policy; a whole block takes the kernels of other tests."""
    state, actions = env.init(max(count, BLOCK), seed, first_row=first_row), list[np.ndarray]()
    lengths = np.zeros(count, int)
    while (going := ~state.numpy()["terminated"][:count]).any():
        actions.append(te.agents.uniform(state).numpy())
        state = env.step(state, actions[-1])
        lengths += going
    played = np.array(actions).T.tolist()
    return [
        te.record(env, played[i][:length], row=first_row + i, seed=seed) for i, length in enumerate(lengths.tolist())
    ]


def saved(game: te.Record, folder: Path, ending: str = "sgf") -> str:
    path = folder / f"game.{ending}"
    te.save_game(game, path)
    return path.read_text()


def loaded(text: str, folder: Path, env: te.Env | None = None, ending: str = "sgf") -> te.Record:
    path = folder / f"other.{ending}"
    path.write_text(text)
    return te.load_game(path, env)


@pytest.mark.few("go-fields0")
@pytest.mark.parametrize(("name", "fields"), GAMES)
def test_games_are_loaded_as_they_were_saved(name: str, fields: dict[str, Any], tmp_path: Path) -> None:
    """The file names the game, the board's size and the komi."""
    for game in random_games(shared_env(name, **fields), 6 if fields else 1, 5):
        text = saved(game, tmp_path)
        again = loaded(text, tmp_path)
        assert (again.game, again.actions, again.rewards) == (game.game, game.actions, game.rewards)
        assert again.terminated and f"RE[{'B' if game.rewards[-1][0] > 0 else 'W'}+" in text
    if name == "hex":
        env = shared_env(name, **fields)
        swapped = te.record(env, ["b1", "swap", "c2"])
        assert ";B[b1];W[swap-pieces];B[c2])" in saved(swapped, tmp_path)
        assert loaded(saved(swapped, tmp_path), tmp_path).names == ("b1", "swap", "c2")


def test_properties_without_a_meaning_may_stand_twice(tmp_path: Path) -> None:
    assert loaded("(;SZ[9]foo[1]bar[2]C[a]C[b];B[aa])", tmp_path).names == ("A9",)


def test_a_position_in_the_middle(tmp_path: Path) -> None:
    for name, first, moves in (
        ("go", ["D4", "C3", "pass", "E5"], ["pass", "A9"]),
        ("hex", ["b1", "c2"], ["a3", "k11"]),
    ):
        env = shared_env(name)
        start = env.state_to_dict(te.replay(te.record(env, first)))
        game = te.record(env, moves, start=start)
        again = loaded(saved(game, tmp_path), tmp_path)
        assert again.names == game.names and again.players == game.players and again.start is not None
        assert again.start["board"] == start["board"]
    env = shared_env("go")
    passed = env.state_to_dict(te.replay(te.record(env, ["D4", "pass"])))
    with pytest.raises(ValueError, match="start must be without a pass"):
        te.save_game(te.record(env, ["E5"], start=passed), tmp_path / "game.sgf")


OTHERS = [
    ("(;GM[1]FF[4]SZ[9]KM[6.5]HA[2]\nAB[gc][cg]C[a \\] and ( in a comment]\n;W[cc]BL[30](;B[gg];W[tt])(;B[aa]))",
     ("C7", "G3", "pass"), {"komi": 6.5}),
    ("(;FF[3]GaMe[1]SiZe[5];B[aa];W[];B[ee];W[];B[])", ("A5", "pass", "E1", "pass", "pass"), {"size": 5}),
    ("text before (;SZ[13]AB[aa:bb]PL[W];;C[no move];W[mm])", ("N1",), {"size": 13}),
    ("(;GM[11]SZ[7];B[A1];W[g7];B[resign])", ("a1", "g7"), {"size": 7}),
    ("(;SZ[9];W[aa]B[bb])", ("A9", "B8"), {"size": 9}),
    ("(;GM[11]SZ[7:7]AB[c3]AW[d4];W[E5])", ("e5",), {"size": 7}),
]  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize(("text", "names", "fields"), OTHERS)
def test_files_of_other_programs(text: str, names: tuple[str, ...], fields: dict[str, Any], tmp_path: Path) -> None:
    game = loaded(text, tmp_path)
    assert game.names == names
    assert {name: game.game["rules"][name] for name in fields} == fields
    if "aa:bb" in text:
        assert game.start is not None and np.flatnonzero(game.start["board"]).tolist() == [143, 144, 156, 157]


WRONG = [
    ("", "it is empty"),
    ("(", "node 0: a property, a node or \\) is missing before 'the end'"),
    ("(;SZ[9]HA[2];W[dd])", "node 0: HA is 2, and no such stones are set up"),
    ("(;SZ[9]CA[nothing];W[dd])", "node 0: CA names an unknown encoding, 'nothing'"),
    ("(;sz[9];b[dd];w[dd])", r"node 2, W\[dd\]: action 1: no legal action"),
    ("(;SZ[9];B[dd];W", "node 2: a property, a node or \\) is missing before 'W'"),
    ("()", "node 0: the game has no root"),
    ("(;SZ[9:7])", "node 0: SZ must be the side of a square board, got '9:7'"),
    ("(;SZ[9]KM[x])", "node 0: KM must be a number, got 'x'"),
    ("(;SZ[9]KM[6_5])", "node 0: KM must be a number, got '6_5'"),
    (f"(;SZ[{'9' * 5000}])", "node 0: SZ must be the side of a square board, got '9999"),
    ("(;GM[11]SZ[5];B[b1];W[resign];B[c1])", r"node 3, B\[c1\]: no move may follow resign"),
    ("(;SZ[9];B[dd];W[dj])", r"node 2, W\[dj\]: a point must be two letters of a..i"),
    ("(;SZ[9];B[dd];W[dd])", r"node 2, W\[dd\]: action 1: no legal action of 'go' is called 'D6'"),
    ("(;SZ[9];B[dd];B[ee])", r"node 2, B\[ee\]: W is to move"),
    ("(;SZ[9];B[dd];AW[ee])", "node 2: stones are set up after the first move"),
    ("(;SZ[9]KM[5]KM[6])", "node 0: the property KM must stand once, with all its values"),
    ("(;SZ[9];B[aa]B[bb])", "node 1: the property B must stand once"),
    ("(;SZ[9]PL[x])", "node 0: PL must be B or W, got 'x'"),
    ("(;SZ[9]AB[d])", r"node 0, AB\[d\]: a point must be two letters"),
    ("(;GM[11]SZ[5];B[f1])", r"node 1, B\[f1\]: a move must be a cell of a1..e5, swap-pieces, resign or forfeit"),
    ("(;GM[11]SZ[5];B[a1];W[b1];B[swap-sides])", r"node 3, B\[swap-sides\]: a move must be"),
    ("(;GM[2])", r"the file must be of a known game and end with .*, got '\.sgf'"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message[:60] for _, message in WRONG])
def test_errors_name_the_node(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"holds no game that can be read: .*{message}"):
        loaded(text, tmp_path)


def test_the_file_must_fit_the_environment(tmp_path: Path) -> None:
    go, hexagons = shared_env("go"), shared_env("hex")
    for text, env, message in (
        ("(;SZ[5])", go, "size is 5, and that of the environment is 9"),
        ("(;SZ[9]KM[0.5])", go, "komi is 0.5, and that of the environment is 7.5"),
        ("(;GM[11])", go, "GM must be 1, got 11"),
        ("(;SZ[9])", hexagons, "GM must be 11, got 1"),
        ("(;GM[11]SZ[5])", hexagons, "size is 5, and that of the environment is 11"),
    ):
        with pytest.raises(ValueError, match=f"node 0: {message}"):
            loaded(text, tmp_path, env)
    for actions in ([0, 0], [0, -1]):  # -1 is illegal, though the last action, a pass, is legal
        with pytest.raises(ValueError, match=r"game ends with an illegal action, which \.sgf cannot express"):
            te.save_game(te.record(go, actions), tmp_path / "game.sgf")


@pytest.mark.slow
def test_sgfmill_plays_our_games_of_go_to_the_same_end(tmp_path: Path) -> None:
    """Its board, which knows captures, ends with our stones, and its area score is the result."""
    sgf = pytest.importorskip("sgfmill.sgf")
    boards = pytest.importorskip("sgfmill.boards")
    for name, fields in GAMES[:2]:
        env = shared_env(name, **fields)
        for game in random_games(env, 3 if fields else 1, 7):
            judged = sgf.Sgf_game.from_string(saved(game, tmp_path))
            size, board = env.rules.size, boards.Board(env.rules.size)
            assert (judged.get_size(), judged.get_komi()) == (size, env.rules.komi)
            nodes = judged.get_main_sequence()[1:]
            for node, action, player in zip(nodes, game.actions, game.players, strict=True):
                colour, point = node.get_move()
                assert colour == "bw"[player] and point == (None if action == size**2 else divmod(action, size))
                if point is not None:
                    board.play(*point, colour)
            stones = [{"b": 1, "w": -1, None: 0}[board.get(*divmod(k, size))] for k in range(size**2)]
            last = te.replay(game)
            assert [0 if stone == 2 else stone for stone in env.state_to_dict(last)["board"]] == stones
            margin = board.area_score() - env.rules.komi
            assert judged.get_winner() == ("b" if margin > 0 else "w")
            assert judged.get_root().get("RE") == f"{'B' if margin > 0 else 'W'}+{abs(margin):g}"


def test_we_read_what_sgfmill_writes(tmp_path: Path) -> None:
    sgf = pytest.importorskip("sgfmill.sgf")
    for game in random_games(shared_env("go"), 1, 11):
        other = sgf.Sgf_game(size=9)
        other.get_root().set("KM", 7.5)
        other.get_root().set("C", "brackets ] ( ; and \\ in a comment")
        for action, player in zip(game.actions, game.players, strict=True):
            node = other.extend_main_sequence()
            node.set_move("bw"[player], None if action == 81 else divmod(action, 9))
        again = loaded(other.serialise().decode(), tmp_path)
        assert (again.actions, again.rewards) == (game.actions, game.rewards)


@pytest.mark.slow
def test_sgfmill_reads_our_games_of_hex(tmp_path: Path) -> None:
    sgf = pytest.importorskip("sgfmill.sgf")
    for game in random_games(shared_env("hex", size=5), 4, 7):
        judged = sgf.Sgf_game.from_string(saved(game, tmp_path))
        assert judged.get_root().get_raw("GM") == b"11" and judged.get_size() == 5
        moves = [node.get_raw("BW"[k % 2]).decode() for k, node in enumerate(judged.get_main_sequence()[1:])]
        assert moves == [name.replace("swap", "swap-pieces") for name in game.names]
        assert judged.get_winner() == ("b" if game.rewards[-1][0] > 0 else "w")
