"""Pictures and texts of the page's JavaScript, against those of Python that they were translated from."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.rules.scalar import scalar
from tensor_envs.web import javascript
from tensor_envs.web.variants import VARIANTS, variant
from tensor_envs.web.views import Views, views_of
from tests.games.shared import shared_env

HERE = Path(__file__).parent
PAGE = Path(javascript.__file__).parents[1] / "page"
NODE = shutil.which("node")
SHARE = 0.3  # of the positions of a game
MOST_BYTES = 45_000  # of a game's module, compressed; two have a narrow picture as well
Case = tuple[str, list[Any]]
pytestmark = pytest.mark.skipif(NODE is None, reason="the page's code is run by node, which is not here")


def views(env: te.Env) -> Views:
    notation, render = env.entry.load("notation"), env.entry.load("render")
    return views_of(env.id, env.rules, notation, render, env.engine.layout)


def in_node(text: str, cases: list[Case], folder: Path) -> list[Any]:
    """Return what the functions of a module give."""
    for file in PAGE.glob("runtime*.js"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "module.js").write_text(text)
    command = [str(NODE), str(HERE / "views.js"), str(folder / "module.js")]
    done = subprocess.run(command, input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found


def words_of(env: te.Env, game: Any) -> list[int]:
    """Return the words of the fields and flags of a game in plain Python."""
    layout = env.engine.layout
    words = [0] * layout.words
    flags = [scalar(game.terminated), scalar(game.truncated)]
    layout.put(lambda w, x: words.__setitem__(w, int(x.value)), s=game.state, flags=flags)
    return words


def walk(env: te.Env, count: int, rng: random.Random) -> list[Case]:
    """Return cases of random games, with every view that a table may ask for: of every player and of nobody."""
    cases, python = list[Case](), views(env)
    seed = 0
    while len(cases) < 3 * count:
        game, past, moves = ScalarGame(env.rules, seed), list[tuple[list[int], int]](), list[tuple[int, str]]()
        seed += 1
        while True:
            words = words_of(env, game)
            legal = [] if game.over else game.legal_actions()
            if game.over or (rng.random() < SHARE and len(cases) < 3 * count):
                player = rng.choice([None, *range(env.num_players)])
                names = [name for _, name in moves]
                cases.append(("view", [words, player, names, legal, past[:], game.over]))
                cases.append(("names", [words, legal]))
                cases.append(("prompt", [words, player, moves[:], python["names"](words, legal)]))
            if game.over:
                break
            action = game.uniform_action()
            (name,) = python["names"](words, [action])
            past.append((words, action))
            moves.append((int(game.state.current_player.value), name))
            game.step(action)
    return cases


def check(env: te.Env, count: int, folder: Path) -> None:
    python = views(env)
    text = javascript.module(python, "./runtime.js")
    assert len(gzip.compress(text.encode())) < MOST_BYTES
    cases = walk(env, count, random.Random(3))
    expected = [json.loads(json.dumps(python[what](*given))) for what, given in cases]
    pictures = {shown["svg"] for shown, (what, _) in zip(expected, cases, strict=True) if what == "view"}
    assert len(pictures) > min(count // 4, 5)
    for found, wanted, (what, given) in zip(in_node(text, cases, folder), expected, cases, strict=True):
        assert found == wanted, (what, given)


@pytest.mark.few("kuhn_poker", "connect_four", "y")
@pytest.mark.parametrize("name", VARIANTS)
def test_a_page_shows_what_python_does(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Pictures are compared byte by byte, and so are phrases, scores, reasons, names and prompts."""
    check(variant(name)[1], 12, tmp_path)


@pytest.mark.slow
@pytest.mark.page
@pytest.mark.parametrize("name", VARIANTS)
def test_a_page_shows_the_third_position(name: str, tmp_path: Path) -> None:
    """A function of Python's that has no translation is found in every game."""
    env = variant(name)[1]
    python, game = views(env), ScalarGame(env.rules, 0)
    past, moves = list[tuple[list[int], int]](), list[tuple[int, str]]()
    for _ in range(2):
        words, action = words_of(env, game), game.uniform_action()
        past.append((words, action))
        moves.append((int(game.state.current_player.value), *python["names"](words, [action])))
        game.step(action)
    words = words_of(env, game)
    played, names = [name for _, name in moves], python["names"](words, game.legal_actions())
    cases: list[Case] = [("view", [words, None, played, [], past, False]), ("prompt", [words, 0, moves, names])]
    expected = [json.loads(json.dumps(python[what](*given))) for what, given in cases]
    assert in_node(javascript.module(python, "./runtime.js"), cases, tmp_path) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_page_shows_what_python_does_in_hundreds_of_positions(name: str, tmp_path: Path) -> None:
    check(variant(name)[1], 200, tmp_path)


# moves to the last rank by pawns and by other pieces, castlings of both colours, en passant; the start, middle games
POSITIONS = ["r3k2r/1P5p/8/3pP3/8/8/p5PP/R3K2R w KQkq d6 0 9", "r3k2r/P6p/8/8/4pP2/8/1p4PP/R3K2R b KQkq f3 0 9",
             "3q2k1/2P1Q3/8/8/8/8/2p1q3/3Q2K1 b - - 0 30", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
             "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
             "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10"]  # fmt: skip


@pytest.mark.slow  # it compiles chess
def test_a_page_names_and_draws_moves_of_chess_as_the_environment_does(tmp_path: Path) -> None:
    env = shared_env("chess")
    games = [env.state_from_dicts([{"fen": fen}]) for fen in POSITIONS]
    legal = [env.legal_actions(game) for game in games]
    words = [game.buffers.layout.download(game.buffers.words)[0].tolist() for game in games]
    cases: list[Case] = [("names", [at, [*names]]) for at, names in zip(words, legal, strict=True)]
    cases += [("view", [at, 1, [], [], [], False]) for at in words]
    found = in_node(javascript.module(views(env), "./runtime.js"), cases, tmp_path)
    assert found[: len(games)] == [[*names.values()] for names in legal]
    assert {"e1g1", "e8c8", "b7a8q", "b2a1n", "e4f3", "e5d6"} <= {name for names in legal for name in names.values()}
    assert [shown["svg"] for shown in found[len(games) :]] == [env.render(game, 0, 1) for game in games]


def test_a_game_without_modules_shows_its_fields(tmp_path: Path) -> None:
    env = te.make("tests.adapters.toll_road:TollRoad")
    check(env, 6, tmp_path)


@pytest.mark.parametrize("name", ["tensor_stars", "tensor_equilibrium_4"])
def test_a_narrow_picture_has_the_parts_of_the_wide_one(name: str) -> None:
    """All actions are parts of both, and nothing lies outside of a picture that a phone shows unscrolled."""
    env = variant(name)[1]
    notation, render = env.entry.load("notation"), env.entry.load("render")
    parts = 0
    for seed in range(3):
        game = ScalarGame(env.rules, seed)
        for _ in range(20):
            position = notation.to_dict(env.rules, env.engine.layout.plain(words_of(env, game)))
            wide, narrow = render.draw(env.rules, position), render.draw_narrow(env.rules, position)
            assert sorted(area.actions for area in wide.areas) == sorted(area.actions for area in narrow.areas)
            assert narrow.width < 480 < wide.width
            for part in (*narrow.shapes, *narrow.areas):
                points = getattr(part, "points", None) or [getattr(part, "at", None) or part.centre]
                assert all(0 <= x <= narrow.width and 0 <= y <= narrow.height for x, y in points)
            parts += len(narrow.areas)
            for _ in range(3):  # a picture hardly differs from the next one
                if not game.over:
                    game.step(game.uniform_action())
            if game.over:
                break
    assert parts > 200
