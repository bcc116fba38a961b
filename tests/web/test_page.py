"""The folder that `python -m tensor_envs.web build` writes."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import tensor_envs as te
from tensor_envs import web
from tensor_envs.render.scene import scene
from tensor_envs.web.__main__ import main
from tensor_envs.web.site import build, write_package
from tensor_envs.web.tile import tile_tables
from tensor_envs.web.variants import Variant, variant
from tests.games.shared import shared_env
from tests.scripts.here import run_here, status

MAX_BYTES = 150_000  # of the compressed start page with one game, without Python
MAX_TRANSFER = 300_000  # bytes of the page, a game, its players and its rules, compressed
MAX_FIRST = 300_000  # bytes until the first board, which take .3 s of 9 Mbit/s
MAX_RUNTIME_LINES = 560
MAX_LINES = 2239  # all lines of the page's JavaScript, blank ones and comments included
GAME = "kuhn_poker"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("web") / "site"
    build(out, [GAME])
    return out


def test_the_start_page_is_small_and_whole(site: Path) -> None:
    files = {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    assert sum(len(gzip.compress(content)) for content in files.values()) < MAX_BYTES
    games = json.loads(files["games.json"])
    assert [game["game"] for game in games["games"]] == [GAME] and not games["python"]
    assert {"index.html", "page.js", f"games/{GAME}.wasm.gz", f"games/{GAME}.json.gz"} <= set(files)
    texts = b"".join(c for name, c in files.items() if name.endswith((".html", ".js", ".css")))
    assert b"://" not in texts.replace(b"http://www.w3.org/2000/svg", b"")  # which names the language of pictures
    game = [
        f"games/{GAME}.{suffix}" for suffix in ("json.gz", "wasm.gz", "js", "player.json.gz", "player.wasm.gz", "txt")
    ]
    page = [name for name in files if "/" not in name]
    assert sum(len(gzip.compress(files[name])) for name in page + game) < MAX_TRANSFER
    assert sum(len(files[name]) for name in page + game[:3]) < MAX_FIRST  # of a server that does not compress


def test_what_the_first_board_needs_is_asked_for_at_once(site: Path) -> None:
    """A browser finds modules level by level otherwise, each after an answer of the host."""
    text = (site / "index.html").read_text()
    early = {*re.findall(r'rel="(?:module)?preload" href="([^"]+)"', text)}
    reached, left = set[str](), ["page.js", "runtime.js"]
    while left:
        name = left.pop()
        reached.add(name)
        left += {*re.findall(r'from "\./(\w+\.js)"', (site / name).read_text())} - reached
    assert early == reached - {"page.js"} | {"games.json"}


def test_the_pages_javascript_is_short() -> None:
    """Of it, what translated Python needs has a bound of its own."""
    files = [*(Path(web.__file__).parent / "page").glob("*.js")]
    lines = {file.name: len(file.read_text().splitlines()) for file in files}
    assert sum(lines.values()) <= MAX_LINES and len(files) > 15
    assert 0 < sum(count for name, count in lines.items() if name.startswith("runtime")) <= MAX_RUNTIME_LINES


ABOUT = """
import {{ readFileSync }} from 'fs';
class Made {{
  constructor(tag) {{ this.tag = tag; this.parts = []; }}
  append(...parts) {{ this.parts.push(...parts.map((part) => part.textContent ?? part)); }}
  get textContent() {{ return this.parts.join(this.tag === 'tr' ? ': ' : ''); }}
}}
globalThis.document = {{ createElement: (tag) => new Made(tag) }};
const {{ markdown }} = await import('{page}/rules.js');
const shown = markdown(readFileSync('{text}', 'utf8')).map((one) => `${{one.tag}} ${{one.textContent}}`);
console.log(JSON.stringify(shown.slice(shown.findIndex((one) => one.includes('About this game')))));
"""


def test_the_rules_of_a_game_end_with_what_the_laboratory_says_of_it(site: Path) -> None:
    """A random game of Kuhn poker has 2.25 plies, each with two legal actions."""
    (game,) = json.loads((site / "games.json").read_bytes())["games"]
    text = (site / game["rules"]).read_text()
    rules, _, section = text.partition("\n## About this game\n")
    assert rules == te.text.describe(shared_env(GAME))
    rows = dict(re.findall(r"^\| (.+) \| (.+) \|$", section, re.M))
    assert (rows["plies"], rows["legal actions of a decision"]) == ("2", "2.0")
    assert rows["decisions with one legal action"] == "0.0%"
    near = [name.split(" (")[0] for name in rows["most similar games (distance)"].split("), ")]
    assert len(near) == 5 and {*near} < {*te.registered()} - {GAME}
    if node := shutil.which("node"):
        script = ABOUT.format(page=Path(web.__file__).parent / "page", text=site / game["rules"])
        done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
        heading, _, table = json.loads(done.stdout)
        assert (
            heading == "h3 About this game" and table.startswith("div ") and "legal actions of a decision: 2.0" in table
        )


@pytest.mark.skipif(shutil.which("node") is None, reason="the page is run by node, which is not here")
def test_how_games_have_ended() -> None:
    page = Path(web.__file__).parent / "page"
    cases = [
        ([1.0, -0.5, -0.5], False, "", "White wins."),
        ([1.0, -1.0], False, "checkmate", "White wins: checkmate."),
        ([0.25, -0.5, 0.25], False, "", "White and Red share the win."),
        ([0.0, 0.0, 0.0], False, "", "A draw."),
        ([0.0, 0.0], False, "stalemate", "A draw: stalemate."),
        ([0.0, 0.0, 0.0], True, "", "A draw: the limit of the game's length."),
        ([1204.0], False, "the highest tile is 128", "The game is over: 1204 points: the highest tile is 128."),
    ]
    names = ["White", "Black", "Red"]
    views: list[dict[str, Any]] = [
        {"players": names[: len(returns)], "returns": returns, "truncated": truncated, "reason": reason}
        for returns, truncated, reason, _ in cases
    ]
    views += [{"players": names[:2], "returns": [n, n], "truncated": False, "zero_sum": False} for n in (7.0, 0.0)]
    script = (
        f"import {{ outcome }} from '{page}/controls.js'; console.log(JSON.stringify({json.dumps(views)}.map(outcome)))"
    )
    done = subprocess.run(
        [str(shutil.which("node")), "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    teams = ["The game is over: 7 points.", "The game is over: 0 points."]
    assert json.loads(done.stdout) == [*(text for *_, text in cases), *teams]


VIEWS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import bridge
print(json.dumps([json.loads(bridge.answer(*call)) for call in json.loads(sys.argv[2])]))
"""


def package(variants: dict[str, tuple[Variant, te.Env]], folder: Path) -> None:
    """Write the page's Python in the layout of a page."""
    write_package(variants, folder)
    ZipFile(folder / "package.zip").extractall(folder)


def answers(folder: Path, script: str, calls: object) -> Any:
    command = [sys.executable, "-S", "-c", script, str(folder), json.dumps(calls)]
    done = subprocess.run(command, capture_output=True, text=True, env={}, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def words_of(state: te.State) -> list[int]:
    words: list[int] = state.buffers.layout.download(state.tensors[0])[0].tolist()
    return words


def test_the_pages_python_shows_what_the_environment_does(tmp_path: Path) -> None:
    """Only the page's part of the package is importable, as in a browser: neither NumPy nor site-packages."""
    kuhn, go, stars = (shared_env(name) for name in ("kuhn_poker", "go", "tensor_stars"))
    package({env.id: variant(env.id) for env in (kuhn, go, stars)}, tmp_path)
    bet = kuhn.step(kuhn.init(1, 3), [1])
    calls, expected = list[tuple[str, str]](), list[Any]()
    passed = go.step(go.init(1), [81])
    for env, start, action in ((kuhn, kuhn.init(1, 3), 1), (kuhn, bet, 1), (stars, stars.init(1), 3), (go, passed, 81)):
        state = env.step(start, [action])
        values = state.numpy()
        legal, over = values["legal_action_mask"][0].nonzero()[0].tolist(), bool(values["terminated"][0])
        moves = [env.action_names[action]]
        for player in (None, 0, 1):
            call = [env.id, words_of(state), player, moves, legal, [[words_of(start), action]], over]
            calls.append(("bridge.view", json.dumps(call)))
            past = [(env.state_to_dict(start), action)]
            shown = scene(
                env.rules, env.entry.load("render"), env.state_to_dict(state), player, moves, legal, past, over
            )
            expected.append(shown)
            game = te.record(env, [action], row=0, start=env.state_to_dict(start))
            names = list(env.legal_actions(state).values())
            told = [env.id, words_of(state), player, [[game.players[0], moves[0]]], names]
            calls.append(("bridge.prompt", json.dumps(told)))
            expected.append(te.text.prompt(state, 0, player, game))
    prompts, views = expected[1::2], expected[::2]
    assert views[8]["moves"] == ["a card, face down"]  # player 0's move in player 1's view
    assert ": Black a hidden move\n" in prompts[8]
    assert views[9]["reason"] == "an area of 0 + 7.5 of komi to 0"
    assert answers(tmp_path, VIEWS, calls) == expected
    assert views[0] != views[1] != views[2] and prompts[1] != prompts[2]  # each player sees one card


PLAYS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import bridge, playground
def ask(what, *given):
    try:
        return json.loads(bridge.answer(f"playground.{what}", json.dumps(given)))
    except (ValueError, TypeError, NotImplementedError) as error:
        return f"{type(error).__name__}: {error}"
results = []
for id, changes in json.loads(sys.argv[2]):
    form = ask("form", id)
    found = ask("named", form["id"], {f["name"]: f["text"] for f in form["fields"]} | changes)
    results.append([form["fields"], found])
    if isinstance(found, dict):
        games = [ask("begin", found["game"], 5)]
        while len(games) < 8:
            games.append(ask("play", found["game"], games[-1]["words"], games[-1]["keys"], None))
        results[-1].append(games)
print(json.dumps(results))
"""


@pytest.mark.slow
def test_the_form_is_made_from_the_rules_and_plays_what_the_environment_does(tmp_path: Path) -> None:
    package({id: variant(id) for id in ("tic_tac_toe", "shed_5")}, tmp_path)
    wrong = [("k", "9"), ("shape", "abc"), ("misere", "2"), ("shape", "(600, 600)")]
    calls = [*[("tic_tac_toe", {name: text}) for name, text in wrong], ("tic_tac_toe", {"shape": "4, 4"})]
    answered = answers(tmp_path, PLAYS, [*calls, ("shed_5", {"cards": "6", "max_plies": "7"})])
    assert [(f["name"], f["text"], f["choices"]) for f in answered[0][0]] == [
        ("shape", "(3, 3)", []),
        ("k", "3", []),
        ("misere", "False", ["False", "True"]),
        ("gravity", "False", ["False", "True"]),
    ]
    assert answered[-1][0][0] == {"name": "cards", "text": "5", "allowed": "must be in 1..32", "choices": []}
    assert [found for _, found in answered[: len(wrong)]] == [
        "ValueError: no line of k=9 fits on shape (3, 3): k is at most 3",
        "TypeError: shape must be a tuple of ints, got 'abc' of type str",
        "TypeError: misere must be of type bool, got 2 of type int",
        "NotImplementedError: hyper_tic_tac_toe is too large for a page: 135,020 bytes, at most 1,024",
    ]
    names = "hyper_tic_tac_toe(shape=(4, 4))", "shed(cards=6, max_plies=7)"
    envs = shared_env("hyper_tic_tac_toe", shape=(4, 4)), shared_env("shed", cards=6, max_plies=7)
    for name, env, (_, found, games) in zip(names, envs, answered[len(wrong) :], strict=True):
        assert found["game"] == name and len(found["players"]) == 2 and found["rules"] == te.text.describe(env)
        state = env.init(1, 5)
        assert games[0]["words"] == words_of(state)
        assert found["about"]["tile"] == json.loads(json.dumps(tile_tables(env)))
        for game in games[1:]:
            assert te.agents.uniform(state).tolist() == [game["action"]]
            state = env.step(state, [game["action"]])
            assert game["words"] == words_of(state)
        assert games[0]["keys"] == state.buffers.layout.download(state.tensors[1])[0].tolist()


PLAYOUTS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import bridge, playground
results = []
for name, seed, actions in json.loads(sys.argv[2]):
    kinds, now = playground.about(name)["kinds"], playground.begin(name, seed)
    for action in actions:
        now = playground.play(name, now["words"], now["keys"], action)
    results.append([kinds, playground.playouts(name, now["words"], now["keys"])])
    playground.THINKING = 0.0
    results[-1].append(playground.playouts(name, now["words"], now["keys"]))
    playground.THINKING = 1.0
print(json.dumps(results))
"""


@pytest.mark.slow  # it plays by the clock, and fails on a loaded machine
def test_playouts_in_the_page_win_block_and_do_not_peek(tmp_path: Path) -> None:
    package({id: variant(id) for id in ("tic_tac_toe", "kuhn_poker")}, tmp_path)
    kuhn = shared_env("kuhn_poker")
    seed = next(s for s in range(99) if kuhn.init(1, s).numpy()["cards"].tolist() == [[2, 1]])
    positions = [
        ("hyper_tic_tac_toe(shape=(3, 3))", 0, [0, 8, 1, 7]),  # to win: 2
        ("hyper_tic_tac_toe(shape=(3, 3))", 0, [4, 8, 1]),  # to block: 7
        ("kuhn_poker()", seed, [1]),  # a queen calls a bet, except against the king
    ]
    answered = answers(tmp_path, PLAYOUTS, positions)
    assert [best for _, best, _ in answered] == [2, 7, 1]
    assert all(kinds == ["person", "uniform", "playouts"] for kinds, _, _ in answered)
    assert all(action in range(9) and action not in positions[k][2] for k, (_, _, action) in enumerate(answered[:2]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["site", "--env", "42"], "unknown id '42'; registered() has all of them"),
        (["site", "--pyodide", "."], "pyodide must be the folder of its npm package, and '.' has no pyodide.mjs"),
        ([], "the following arguments are required: OUT"),
    ],
)
def test_wrong_arguments_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(main, ["build", *arguments]) == (2, "", f"python -m tensor_envs.web: error: {message}\n")
    assert not any(tmp_path.iterdir())


def test_help_and_games_that_do_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert status(main, ["--help"]) == 0 and "python -m http.server -d site" in capsys.readouterr().out
    with pytest.raises(ValueError, match="ids must name one game or more, got none"):
        build(tmp_path, [])
    with pytest.raises(TypeError, match="ids must be"):
        build(tmp_path, "othello")


@pytest.mark.parametrize(
    ("out", "pyodide", "message"),
    [
        (3, None, "out must be a str or a Path, got 3 of type int"),
        ("", None, "out must name a file, got ''"),
        (__file__, None, "out must be a folder, got the file '.*test_page.py'"),
        ("site", 3, "pyodide must be a str or a Path, got 3 of type int"),
    ],
)
def test_wrong_folders(out: Any, pyodide: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError), match=message):
        build(out, [GAME], pyodide)
    assert not any(tmp_path.iterdir())
