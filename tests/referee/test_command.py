"""python -m tensor_envs.referee: players of all kinds play, and their games are saved and reported."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.referee import __main__ as command
from tensor_envs.referee import endpoint
from tests.referee.players import legal
from tests.scripts.here import run_here

HERE = "tests.referee.players"
PROGRAM = f"{sys.executable} -c \"import re, sys; print(re.findall('move: (.*)', sys.stdin.read())[-1])\""


def run(*arguments: object) -> tuple[int, str, str]:
    return run_here(command.main, arguments)


def test_a_tournament_is_printed_saved_and_reported(tmp_path: Path) -> None:
    path, page = tmp_path / "games.jsonl", tmp_path / "page.html"
    path.write_text("an older file")
    players = ("--player", f"{HERE}:reader", "--player", "perfect", "--player", "weights", "--command", PROGRAM)
    code, out, errors = run(
        "tic_tac_toe", *players, "--games", 2, "--opening", 0, "--save", path, "--report", page, "--no-resume"
    )
    assert (code, errors) == (0, "") and out.count("\n") == 12 + 1 + 5 + 4
    assert "regret by <Solution of <Env tic_tac_toe-v0" in out and re.search(r"^perfect +\+\d+ \+- +\d+", out, re.M)
    assert re.search(rf"^{HERE}:reader: .* 0 lost; .* regret 0\.0000 .*0\.0% illegal, 0\.0% unparsable$", out, re.M)
    games = [te.Record.from_json(line) for line in path.read_text().splitlines()]
    assert len(games) == 12 and all(te.replay(game).terminated.item() for game in games)
    assert te.load_game(path) == games[0] and page.read_text().count("<details>") == 12


@pytest.mark.few("tests.types.program:Nim")
@pytest.mark.parametrize(
    ("game", "rules"), [("three_will", ["max_plies=8"]), ("tests.types.program:Nim", ["heap=9"]), ("tensor_stars", [])]
)
def test_games_with_secrets_and_custom_ones(game: str, rules: list[str], tmp_path: Path) -> None:
    options = ("--player", f"{HERE}:first", "--player", "playout:8:0.5", "--simulations", 8, "--limit", 9, "--seed", 3)
    disguise = ("--disguise", "renamed", "retold", "--report", tmp_path / "page.html")
    code, out, errors = run(game, "--rules", *rules, *options, *disguise, "--no-history")
    assert (code, errors) == (0, "") and "0.0% illegal, 0.0% unparsable" in out and out.startswith("game 0: ")


def test_players_with_one_name_are_numbered() -> None:
    code, out, _ = run("kuhn_poker", *["--player", "uniform"] * 2, "--command", PROGRAM)
    assert code == 0 and "\nuniform (2): " in out and "\nuniform: " in out and "<Equilibrium of" in out


class Stub(BaseHTTPRequestHandler):
    """Endpoint of chat completions that plays the first legal move."""

    requests: list[tuple[str, str | None, dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append((self.path, self.headers["Authorization"], body))
        text = body["messages"][-1]["content"]
        answers: dict[str, Any] = {
            "a-model": {
                "choices": [{"message": {"role": "assistant", "content": f"So.\nMove: {legal(text)[0]}"}}],
                "usage": {"total_tokens": 11},
            },
            "silent": {"choices": [{"message": {"content": None}}], "usage": None},
            "broken": {"error": "none"},
            "cut off": {},
        }
        self.send_response(200 if body["model"] in answers else 404)
        if body["model"] == "cut off":
            self.send_header("Content-Length", "9999")
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(body["model"], {"error": "no such model"})).encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def stub() -> Iterator[str]:
    Stub.requests = []
    server = HTTPServer(("127.0.0.1", 0), Stub)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_language_model_at_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "a secret\r")  # as from a file of Windows
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with stub() as url:
        arguments = ("tic_tac_toe", "--url", url, "--model", "a-model", "--player", "uniform")
        code, out, errors = run(*arguments, "--key-variable", "MY_KEY")
        moves = len(Stub.requests)
        assert (code, errors) == (
            0,
            "",
        ) and f"; {moves} answers, 0.0% illegal, 0.0% unparsable, {11 * moves} tokens" in out
        path, key, body = Stub.requests[0]
        assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer a secret", "a-model")
        assert body["messages"][0]["content"].startswith("# Hyperdimensional tic-tac-toe") and "a secret" not in out
        assert run(*arguments)[0] == 0 and Stub.requests[-1][1] is None
        _, out, _ = run(*arguments[:3], "--model", "silent", "--player", "uniform", "--tries", 1)
        assert "100.0% unparsable" in out and "tokens" not in out
        code, _, errors = run(*arguments[:3], "--model", "broken", "--player", "uniform")
        assert code == 2 and "answered what is no chat completion: KeyError('choices')" in errors
        code, _, errors = run(*arguments[:3], "--model", "another", "--player", "uniform")
        assert code == 2 and f'{url} answered 404: {{"error": "no such model"}}' in errors
        code, _, errors = run(*arguments[:3], "--model", "cut off", "--player", "uniform", "--retries", 0)
        assert code == 2 and f"{url} cannot be reached: IncompleteRead" in errors
    code, _, errors = run(*arguments, "--retries", 0)
    assert code == 2 and f"{url} cannot be reached: " in errors


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/passwd", "url must start with http:// or https://, got 'file:///etc/passwd'"),
        ("http://127.0.0.1:port", "url must have a host, perhaps a port, and only ASCII"),
        ("http://[::1/v1", "url must have a host"),
        ("http://127.0.0.1/a b", "url must have a host"),
        ("https://", "url must have a host"),
        ("https://me:a-secret@127.0.0.1/v1", r"^url must have no user, query or fragment; a key is in an environment"),
        ("https://me:a-secret@[::1/v1", "^url must have no user, query or fragment"),
        ("https://127.0.0.1/v1?key=a-secret", "^url must have no user, query or fragment"),
    ],
)
def test_wrong_endpoints(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        endpoint(url, "a-model")


def test_keys_that_cannot_be_sent_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("my-s\recret", "my-s\xe9cret"):
        monkeypatch.setenv("MY_KEY", secret)
        with pytest.raises(ValueError, match=r"^the key in MY_KEY must be of printable ASCII characters$"):
            endpoint("http://127.0.0.1", "a-model", "MY_KEY")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "players must be two or more with different names, got uniform"),
        (
            ["--player", "nobody"],
            "a player must be uniform, playout:SIMULATIONS[:EXPLORATION], weights, perfect or a .safetensors",
        ),
        (["--player", "gone.safetensors"], "no file 'gone.safetensors'"),
        (["--player", "playout:8:x"], "a player must be uniform, playout:SIMULATIONS[:EXPLORATION], weights"),
        (["--player", "playout:0"], "num_simulations must be in 1..1048576, got 0"),
        (["--player", "nowhere:answer"], "or package.module:function, got 'nowhere:answer': No module"),
        (["--player", f"{HERE}:TTT"], "a player must be a function, and"),
        (["--player", f"{HERE}:wordless"], f"the player '{HERE}:wordless' must answer with a str, got NoneType"),
        (["--command", "false"], "--command 'false' ended with exit code 1"),
        (["--command", r"printf '\377'"], r"""--command "printf '\\377'" answered what is no text: 'utf-8' codec"""),
        (["--model", "a-model"], "--model needs the --url of an endpoint"),
        (["--player", "weights", "--report", "/dev/full"], "No space left on device: '/dev/full'"),
        (["--url", "http://127.0.0.1"], "and --url a --model"),
        (["--save", "games.html", "--report", "./games.html"], "--save and --report must be two files, got games.html"),
        (["--player", "weights", "--rules", "illegal='raise'"], "env must have illegal='lose', by which wrong answers"),
        (["--player", "weights", "--games", "3"], "games must be even, so that seats are exchanged, got 3"),
        (["--player", "weights", "--disguise", "renamed", "permuted"], "one of renamed and permuted, got both"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    code, _, errors = run("tic_tac_toe", "--player", "uniform", *arguments)
    assert code == 2 and message in errors and errors.count("\n") == 1


def test_perfect_play_needs_a_solved_game() -> None:
    code, _, errors = run("kuhn_poker", "--player", "uniform", "--player", "perfect")
    assert code == 2 and "needs an oracle: start must be" in errors
    code, _, errors = run("nowhere:Game", "--player", "uniform", "--player", "perfect")
    assert code == 2 and "there is no module 'nowhere'" in errors
