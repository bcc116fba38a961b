"""tensor_envs.play: slow clients, refused requests and the command."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tensor_envs.play import server
from tensor_envs.play.__main__ import main
from tests.play.client import GAME, act, ask, create
from tests.scripts.here import SCRIPTS, complaints, status


@pytest.fixture
def served() -> Iterator[server.Server]:
    """Run a server in this process."""
    with server.Server(0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@contextmanager
def drip(served: server.Server, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that send a byte of a request every 0.1 s."""
    slow = [socket.create_connection((server.ADDRESS, served.server_port)) for _ in range(count)]
    stop = threading.Event()

    def send() -> None:
        for byte in b"GET / HTTP/1.1\r\nX: " + b"x" * 10_000:
            for connection in slow:
                with suppress(OSError):
                    connection.send(bytes([byte]))
            if stop.wait(0.1):
                break

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield slow
    finally:
        stop.set()
        thread.join()
        for connection in slow:
            connection.close()


def test_slow_clients_block_no_others(served: server.Server) -> None:
    """A browser's six connections are served beside 70 slow ones, and the number of threads is bounded."""
    before = threading.active_count()
    with drip(served, 70), ThreadPoolExecutor(6) as browser:
        time.sleep(0.5)
        start = time.monotonic()
        files = list(browser.map(lambda path: ask(served.url, "GET", path).status, ["/", "/server.js"] * 3))
        after = act(served.url, create(served.url), 4).json
        assert time.monotonic() - start < 2
        assert files == [200] * 6 and after["ply"] == 1
        assert threading.active_count() <= before + server.MAX_CONNECTIONS + 10


def test_a_request_has_a_deadline(served: server.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline holds for headers and body together, however often a byte arrives."""
    monkeypatch.setattr(server, "CLIENT_SECONDS", 0.5)
    with drip(served, 1) as (slow,):
        start = time.monotonic()
        slow.settimeout(10)
        assert slow.recv(1) == b"" and 0.4 < time.monotonic() - start < 2
    with socket.create_connection((server.ADDRESS, served.server_port)) as slow:
        head = f"POST /api/tables HTTP/1.1\r\nHost: 127.0.0.1:{served.server_port}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{{".encode())
        slow.settimeout(10)
        assert b"200" not in slow.recv(100)


def test_many_at_once(url: str) -> None:
    """Threads read and one worker plays: of equal requests one is carried out."""
    view = create(url)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda i: act(url, view, i % 9).status, range(16)))
    assert sorted(statuses) == [200] + [409] * 15


def test_a_silent_connection_blocks_no_others(url: str) -> None:
    silent = socket.create_connection((urlsplit(url).hostname, urlsplit(url).port or 0))
    assert ask(url, "GET", "/").status == 200
    silent.close()


# *** refused requests ***


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"game": "tiddlywinks"}, 404, "there is no game 'tiddlywinks'; there are tic_tac_toe"),
        ({"game": 3}, 400, "game must be of type str, got 3"),
        ({"seats": "person"}, 400, "seats must be of type list"),
        ({"seats": ["person"]}, 400, "seats must be 2 of person, uniform, playout:4, playout:8, "),
        ({"seats": ["person", "god"]}, 400, "seats must be 2 of"),
        ({"seats": ["person", None]}, 400, "seats must be strings"),
        ({"game": "hypercube", "seats": ["person", "perfect"]}, 400, "playout:512, got person, perfect"),
        ({"seed": -1}, 400, "seed must be in 0..9007199254740991, got -1"),
        ({"seed": 2**53}, 400, "seed must be in 0.."),
        ({"seed": True}, 400, "seed must be of type int, got True"),
        ({"seed": 0.5}, 400, "seed must be of type int"),
        ({"actions": [0, "4"]}, 400, "actions must be integers"),
        ({"actions": [4, 4]}, 400, "action 4 is illegal here; legal are 0, 1, 2, 3, 5"),
        ({"actions": [0, 3, 1, 4, 2, 5]}, 400, "action 5 is illegal here; the game is over"),
        ({"more": 1}, 400, "the body must have game, seats, seed, actions, got game, seats, seed, actions, more"),
    ],
)
def test_wrong_games(url: str, change: dict[str, Any], status: int, message: str) -> None:
    answer = ask(url, "POST", "/api/tables", {**GAME, **change})
    assert answer.status == status and message in answer.json["error"]


@pytest.mark.parametrize(
    ("body", "headers", "status", "message"),
    [
        (b"{", {}, 400, "the body is no JSON"),
        (b"\xff\xfe", {}, 400, "the body is no JSON"),
        (b"[" * 30_000, {}, 400, "the body"),
        (b'{"seed": ' + b"9" * 30_000 + b"}", {}, 400, "the body"),
        (b"[1]", {}, 400, "the body must be a JSON object, got list"),
        (b"{}", {}, 400, "the body must have game, seats, seed, actions, got nothing"),
        (b"{}", {"Content-Type": "text/plain"}, 415, "Content-Type must be application/json, got text/plain"),
        (b" " * 32769, {}, 413, "a body may have 32768 bytes, got 32769"),
        (b"{}", {"Content-Length": "9" * 5000}, 413, "a body may have 32768 bytes"),
        (b"{}", {"Content-Length": "-2"}, 400, "Content-Length must be a number"),
        (b"0\r\n\r\n", {"Transfer-Encoding": "chunked"}, 411, "Content-Length is needed"),
    ],
)
def test_malformed_bodies(url: str, body: bytes, headers: dict[str, str], status: int, message: str) -> None:
    answer = ask(url, "POST", "/api/tables", body, headers)
    assert answer.status == status and message in answer.json["error"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/play.py", 404),
        ("GET", "/../play.py", 404),
        ("GET", "/rules/../../pyproject.toml", 404),
        ("GET", "/rules/tiddlywinks", 404),
        ("GET", "/api/tables/none", 410),
        ("POST", "/api/tables/none/act", 410),
        ("POST", "/api/tables/none/advance", 410),
        ("POST", "/nothing", 404),
        ("GET", "/api/tables", 405),
        ("GET", "/api/tables/none/advance", 405),
        ("POST", "/", 405),
        ("POST", "/games.json", 405),
        ("POST", "/api/tables/none/undo", 410),
        ("GET", "/api/tables/none/at/0", 410),
        ("PUT", "/", 405),
        ("DELETE", "/api/tables/none", 405),
    ],
)
def test_paths_and_methods(url: str, method: str, path: str, status: int) -> None:
    body = {"ply": 0, "action": 0} if path.endswith("act") else {"ply": 0} if method == "POST" else None
    answer = ask(url, method, path, body)
    assert answer.status == status and answer.json["error"]


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"action": 4}, 400, "action 4 is illegal here; legal are 0, 1, 2, 3, 5"),
        ({"action": 9}, 400, "action 9 is illegal"),
        ({"action": -1}, 400, "action -1 is illegal"),
        ({"action": "4"}, 400, "action must be of type int, got '4'"),
        ({"action": 10**30}, 400, "is illegal"),
        ({"ply": 0}, 409, "the game is at ply 1, not at 0"),
        ({"ply": 2}, 409, "the game is at ply 1, not at 2"),
        ({"ply": None}, 400, "ply must be of type int"),
    ],
)
def test_wrong_actions_change_nothing(url: str, change: dict[str, Any], status: int, message: str) -> None:
    view = act(url, create(url), 4).json
    path = f"/api/tables/{view['table']}"
    answer = ask(url, "POST", f"{path}/act", {"ply": 1, "action": 0, **change})
    assert answer.status == status and message in answer.json["error"]
    assert ask(url, "GET", path).json == view


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "localhost.evil.example:80"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "HOST"},
    ],
)
def test_other_names_and_pages_are_refused(url: str, headers: dict[str, str]) -> None:
    for method, path, body in (("GET", "/", None), ("POST", "/api/tables", GAME)):
        sent = {name: text.replace("HOST", urlsplit(url).netloc) for name, text in headers.items()}
        answer = ask(url, method, path, body, sent)
        assert answer.status == 403 and answer.json["error"]


def test_requests_by_hostname_are_served(url: str) -> None:
    port = urlsplit(url).port
    for name in ("localhost", "127.0.0.1", "LOCALHOST"):
        headers = {"Host": f"{name}:{port}", "Origin": f"http://{name.lower()}:{port}"}
        assert ask(url, "POST", "/api/tables", GAME, headers).status == 200


@pytest.mark.parametrize(
    "text",
    [
        "GET",
        "\x00\x01",
        "GET / HTTP/9.9",
        "GET / HTTP/1.1",  # no host
        "GET http://[/ HTTP/1.1\r\nHost: HOST",
        "GET / HTTP/1.1\r\nHost: HOST\r\nHost: HOST",
        "GET / HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nOrigin: http://evil.example",
        "GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 18\r\n\r\nGET /x HTTP/1.1",
        "GET /" + "x" * 70000 + " HTTP/1.1\r\nHost: HOST",
        "GET / HTTP/1.1\r\nHost: HOST\r\n" + "A: B\r\n" * 200,
    ],
    ids=lambda text: repr(text[:40]),
)
def test_malformed_requests(url: str, text: str) -> None:
    server = urlsplit(url)
    with socket.create_connection((server.hostname, server.port or 0), timeout=20) as line:
        line.sendall(text.replace("HOST", server.netloc).encode() + b"\r\n\r\n")
        answer = b""
        while part := line.recv(4096):
            answer += part
    assert b'{"error": ' in answer and re.match(rb"HTTP/1.\d 4\d\d |{", answer)


def test_listens_on_this_machine_alone(url: str) -> None:
    others = {str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET)}
    for address in others - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
            socket.create_connection((address, urlsplit(url).port or 0), timeout=2)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "argument --port: must be in 0..65535"),
        (["--port", "x"], "invalid int value"),
        (["y"], "y"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str) -> None:
    command = [sys.executable, str(SCRIPTS / "play.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and message in done.stderr and "\npython -m tensor_envs.play: error: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "65536"], "argument --port: must be in 0..65535, got 65536"),
        (["--env", "tiddlywinks"], "unknown id 'tiddlywinks'; registered() has all of them"),
        (
            ["--env", "tests.test_text:CARDS"],
            "--env tests.test_text:CARDS cannot be shown: perfect_information is False, so render must have "
            "seen_by(rules, game, player), which removes what is hidden from a player: name a module with it in the "
            "GameEntry",
        ),
    ],
)
def test_the_package_has_the_command_too(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(main, arguments) == 2
    assert complaints(capsys.readouterr().err) == f"python -m tensor_envs.play: error: {message}\n"


def test_a_port_that_is_taken(url: str) -> None:
    port = str(urlsplit(url).port)
    command = [sys.executable, str(SCRIPTS / "play.py"), "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and f"127.0.0.1:{port} cannot be served" in done.stderr


def test_errors_of_a_custom_game_are_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "needs_a_file.py").write_text("open('/nowhere/data.txt')")
    monkeypatch.syspath_prepend(tmp_path)
    assert status(main, ["--env", "needs_a_file:Game", "--port", "0"]) == 2
    assert "error: [Errno 2] No such file or directory: '/nowhere/data.txt'" in capsys.readouterr().err
