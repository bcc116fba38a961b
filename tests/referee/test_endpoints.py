"""Endpoints that redirect, overload, hang and send rubbish: the key stays where it belongs, errors are one line."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.files.records import positions
from tensor_envs.referee import Participant, Settings, endpoint, packaged, play, tournament
from tensor_envs.referee import __main__ as command
from tensor_envs.referee import players as of_players
from tests.referee.players import TTT, first, legal
from tests.scripts.here import run_here

SECRET = "sk-a-long-secret-of-somebody"
OPENING = Settings(opening=0)


def completion(text: str, **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": text}}], **more}).encode()


Reply = Callable[["Handler", str], None]
BODIES = list[dict[str, Any]]()  # of the requests to the last server


class Handler(BaseHTTPRequestHandler):
    """Handler of a server that replies by a function of the prompt."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Any = self.server
        server.seen.append((self.command, self.path, self.headers["Authorization"]))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server.bodies.append(body)
        server.reply(self, body["messages"][-1]["content"])
        self.close_connection = True

    def do_GET(self) -> None:
        server: Any = self.server
        server.seen.append((self.command, self.path, self.headers["Authorization"]))
        self.send(200, completion("move: (0,0)"))

    def send(self, code: int, body: bytes, **headers: str) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Transfer_Encoding" not in headers and "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):  # the client has closed the connection
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def serving(reply: Reply) -> Iterator[tuple[str, list[tuple[str, str, str | None]]]]:
    """Serve on loopback. Yield the endpoint's URL, and the method, path and key of each request."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.reply, server.seen, server.bodies = reply, [], BODIES
    BODIES.clear()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", server.seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("same_host", [True, False])
def test_redirects_are_not_followed(code: int, same_host: bool) -> None:
    with serving(lambda handler, _: handler.send(200, completion("move: (0,0)"))) as (other, stolen):
        target = "/elsewhere" if same_host else f"{other}/steal"
        with serving(lambda handler, _: handler.send(code, b"", Location=target)) as (url, seen):
            ask = endpoint(url, "a-model").ask
            assert ask is not None
            with pytest.raises(OSError, match=rf"{url} answered {code}: a redirect to {target}, which is not followed"):
                ask("text")
            assert [key for _, _, key in seen] == [f"Bearer {SECRET}"] and stolen == []


@pytest.mark.parametrize(
    ("code", "body", "headers"),
    [
        (500, f"no such key: {SECRET}".encode(), {}),
        (401, json.dumps({"error": f"Bearer {SECRET}"}).encode(), {}),
        (400, b" " * 290 + SECRET.encode(), {}),
        (403, b"x" * 2**16 + SECRET.encode() * 99, {}),
        (302, b"", {"Location": f"http://127.0.0.1/?key={SECRET}"}),
        (200, f'{{"choices": "{SECRET}"}}'.encode(), {}),
        (200, json.dumps({SECRET: SECRET}).encode(), {}),
        (200, SECRET.encode(), {}),
        (200, f"\xff{SECRET}".encode("latin-1"), {}),
    ],
)
def test_errors_do_not_contain_the_key(code: int, body: bytes, headers: dict[str, str]) -> None:
    with serving(lambda handler, _: handler.send(code, body, **headers)) as (url, seen):
        arguments = ["tic_tac_toe", "--player", "uniform", "--url", url, "--model", "a-model", "--retries", "0"]
        status, out, errors = run_here(command.main, arguments)
    assert status == 2 and errors.count("\n") == 1 and len(errors) < 500 and len(seen) == 1
    assert SECRET[:10] not in out + errors


def test_answers_do_not_contain_the_key() -> None:
    with serving(lambda handler, text: handler.send(200, completion(f"{SECRET}\nmove: {legal(text)[0]}"))) as (url, _):
        game = play(TTT, [endpoint(url, "a-model"), Participant("first", ask=first)], settings=OPENING)
    assert game.terminated and SECRET not in game.to_json()
    assert game.notes["moves"][0]["answers"] == ["***\nmove: (0,0)"]


def chunk_of_any_size(handler: Handler, _: str) -> None:
    handler.send(200, b"ffffffffffffffffffff\r\nabc", Transfer_Encoding="chunked")


def broken_chunk(handler: Handler, _: str) -> None:
    handler.send(200, b"zz\r\nabc", Transfer_Encoding="chunked")


def broken_error(handler: Handler, _: str) -> None:
    handler.send(500, b"abc", Content_Length="9")


def no_status(handler: Handler, _: str) -> None:
    handler.wfile.write(b"I am no server\r\n\r\n")


def endless(handler: Handler, _: str) -> None:
    handler.send(200, b" " * 2**23, Content_Length=str(2**40))


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (chunk_of_any_size, "cannot be reached: IncompleteRead"),
        (broken_chunk, ""),
        (broken_error, "answered 500: "),
        (no_status, "cannot be reached: "),
        (endless, "answered what is no chat completion: ValueError('more than 4194304 bytes')"),
        (b"[" * 10**6, "answered what is no chat completion: RecursionError"),
        (b'{"a":' * 10**5, "answered what is no chat completion: RecursionError"),
        (b'{"choices": [{"message": {"content": 0}}]}', "TypeError('content is of type int')"),
        (b'{"choices": [{"message": {"content": []}}]}', "TypeError('content is of type list')"),
        (b'{"choices": {}}', "no chat completion: KeyError"),
        (b'{"choices": [0]}', "no chat completion: TypeError"),
        (b"[]", "no chat completion: TypeError"),
        (b"1" * 5000, "no chat completion: ValueError"),
        (b'"\xff"' * 1000, "no chat completion: UnicodeDecodeError"),
    ],
)
def test_rubbish_is_an_error_of_one_line(reply: Reply | bytes, message: str) -> None:
    send = reply if callable(reply) else lambda handler, _: handler.send(200, reply)
    with serving(send) as (url, _):
        arguments = ["tic_tac_toe", "--player", "uniform", "--url", url, "--model", "a-model", "--retries", "0"]
        status, _, errors = run_here(command.main, arguments)
    assert status == 2 and errors.count("\n") == 1 and message in errors and url in errors and len(errors) < 600


SAMPLING = ("--temperature", "0.5", "--max-tokens", "99", "--system", "Be brief.", "--extra-body", '{"top_p": 0.9}')


def test_options_are_sent_and_noted(tmp_path: Path) -> None:
    """A saved tournament is not continued with other options."""
    path = tmp_path / "games.jsonl"
    with serving(lambda handler, text: handler.send(200, completion(legal(text)[0]))) as (url, _):
        arguments = ("tic_tac_toe", "--player", "uniform", "--url", url, "--model", "a-model", "--save", str(path))
        status, _, errors = run_here(command.main, [*arguments, *SAMPLING])
        assert (status, errors) == (0, "")
        system, question = BODIES[0].pop("messages")
        assert system == {"role": "system", "content": "Be brief."} and question["role"] == "user"
        assert BODIES[0] == {"model": "a-model", "temperature": 0.5, "max_tokens": 99, "top_p": 0.9}
        status, out, _ = run_here(command.main, [*arguments, *SAMPLING])
        assert status == 0 and out.count(f", from {path}") == 2
        status, _, errors = run_here(command.main, [*arguments, "--temperature", "0.7"])
    assert status == 2 and "must have the options {'a-model': {'temperature': 0.7}}, got" in errors
    notes = te.load_game(path).notes
    assert notes["options"] == {
        "a-model": {"temperature": 0.5, "max_tokens": 99, "system": "Be brief.", "extra_body": {"top_p": 0.9}}
    }


def test_a_model_gets_a_picture() -> None:
    """The picture is a PNG of the position in a data URL, and records note the option."""
    pytest.importorskip("PIL")

    def reply(handler: Handler, content: Any) -> None:
        handler.send(200, completion(f"move: {legal(content[0]['text'])[0]}"))

    with serving(reply) as (url, _):
        players = [endpoint(url, "a-model", image=True), packaged("perfect", TTT)]
        game = play(TTT, players, seed=1, settings=OPENING)
        arguments = ["tic_tac_toe", "--player", "uniform", "--url", url, "--model", "a-model", "--image"]
        status, _, errors = run_here(command.main, [*arguments, "--disguise", "retold"])
    states = positions(game)[::2]
    for body, state in zip(BODIES, states, strict=False):
        text, png = te.text.prompt(state, history=te.record(TTT, game.actions[: 2 * states.index(state)]), image=True)
        written, image = body["messages"][-1]["content"]
        assert written["type"] == "text" and written["text"].endswith(f"\n{text}")
        assert image == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(png).decode()}"}}
    assert len(BODIES) > 1 and game.notes["options"] == {"a-model": {"image": True}}
    assert status == 2 and "disguise must be symmetry alone where pictures are shown, got retold" in errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image": 1}, "image must be of type bool"),
        ({"temperature": -1}, r"temperature must be in 0\.?0?\.\.100"),
        ({"max_tokens": 0}, r"max_tokens must be in 1\.\."),
        ({"system": 1}, "system must be of type str"),
        ({"extra_body": {"model": "another"}}, "extra_body must have none of model, messages, stream, n, got model"),
        ({"extra_body": {"seed": {1}}}, "extra_body must be what JSON can hold"),
        ({"extra_body": []}, "extra_body must be of type Mapping"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        endpoint("http://127.0.0.1", "a-model", **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--temperature", "1"], "--temperature needs a --model"),
        (["--extra-body", "[1]"], "--extra-body: must be an object of JSON, got '[1]'"),
        (["--extra-body", "{"], "--extra-body: must be an object of JSON, got '{'"),
        (["--image"], "--image needs a --model"),
        (["--parallel", "0"], "--parallel: must be in 1..256, got 0"),
    ],
)
def test_wrong_options_of_the_command(arguments: list[str], message: str) -> None:
    status, _, errors = run_here(
        command.main, ["tic_tac_toe", "--player", "uniform", "--player", "perfect", *arguments]
    )
    assert status == 2 and message in errors


def test_several_requests_at_a_time() -> None:
    """Games in threads are those of one thread; an endpoint that waits for a second request gets it."""
    pair = threading.Barrier(2)

    def together(handler: Handler, text: str) -> None:
        if "Moves so far" not in text:
            pair.wait(20)
        handler.send(200, completion(f"move: {legal(text)[0]}"))

    def games(url: str, parallel: int) -> list[te.Record]:
        players = [endpoint(url, "a-model"), packaged("playout:8", TTT)]
        played = list(tournament(TTT, players, games=4, settings=OPENING, parallel=parallel))
        return sorted(played, key=lambda game: (game.seed, game.notes["players"]))

    with serving(together) as (url, _):
        at_once = games(url, 4)
    with serving(lambda handler, text: handler.send(200, completion(f"move: {legal(text)[0]}"))) as (url, _):
        in_turn = games(url, 1)
    assert [game.actions for game in at_once] == [game.actions for game in in_turn] and len(at_once) == 4
    assert [game.notes["regret"] for game in at_once] == [game.notes["regret"] for game in in_turn]


def test_an_error_leaves_the_games_in_progress() -> None:
    """The game that fails starts first; the others end all the same, and no other is started."""
    started = list[str]()

    def failing(text: str) -> str:
        started.append(text)
        if len(started) == 1:
            raise LookupError("no idea")
        return first(text)

    players = [Participant("failing", ask=failing), Participant("first", ask=first)]
    games = tournament(TTT, players, games=40, settings=OPENING, parallel=2)
    ended = list[te.Record]()
    with pytest.raises(LookupError, match="no idea"):
        ended.extend(games)
    assert len(ended) < 39 and all(game.terminated for game in ended)


@pytest.mark.parametrize("usage", [[], "many", {"total_tokens": -1}, {"total_tokens": 1.5}, {"total_tokens": 10**99}])
def test_a_strange_number_of_tokens_is_none(usage: Any) -> None:
    with serving(lambda handler, text: handler.send(200, completion(legal(text)[0], usage=usage))) as (url, _):
        game = play(TTT, [endpoint(url, "a-model"), Participant("first", ask=first)], settings=OPENING)
    assert game.terminated and game.notes["moves"][0]["tokens"] is None


@pytest.mark.parametrize(
    ("after", "wait"),
    [("7", 7.0), (lambda: formatdate(time.time() + 100, usegmt=True), 99), (None, 1), ("soon", 1), ("-5", 1)],
)
def test_an_overloaded_endpoint_is_asked_again(
    after: str | Callable[[], str] | None, wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, codes = list[float](), [429, 503, 500]
    monkeypatch.setattr(time, "sleep", waits.append)

    def reply(handler: Handler, text: str) -> None:
        if codes:
            value = after() if callable(after) else after
            handler.send(codes.pop(), b"busy", **({} if value is None else {"Retry_After": value}))
        else:
            handler.send(200, completion(f"move: {legal(text)[0]}"))

    with serving(reply) as (url, seen):
        game = play(TTT, [endpoint(url, "a-model"), Participant("first", ask=first)], settings=OPENING)
    moves = [noted for noted, seat in zip(game.notes["moves"], game.players, strict=True) if seat == 0]
    assert game.terminated and len(seen) == len(moves) + 3 and all(len(noted["answers"]) == 1 for noted in moves)
    assert waits == pytest.approx([wait] * 3 if wait > 1 else [1, 2, 4], abs=2 if callable(after) else 0)


@pytest.mark.parametrize(
    ("code", "headers", "requests", "message"),
    [
        (429, {}, 3, "the player 'a-model' does not answer: http://.* answered 429: busy"),
        (429, {"Retry_After": "86400"}, 1, r"answered 429: busy \(it asks to wait 86400 s\)"),
        (404, {}, 1, "^http://.* answered 404: busy"),
        (401, {}, 1, "^http://.* answered 401: busy"),
    ],
)
def test_how_often_an_endpoint_is_asked(
    code: int, headers: dict[str, str], requests: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with serving(lambda handler, _: handler.send(code, b"busy", **headers)) as (url, seen):
        with pytest.raises(OSError, match=message):
            play(TTT, [endpoint(url, "a-model")] * 2, settings=Settings(opening=0, retries=2))
        assert len(seen) == requests


def dripping(handler: Handler, _: str) -> None:
    """Send a byte of a body now and then, for ever."""
    handler.send(200, b"", Content_Length="1000000")
    with suppress(OSError):
        while True:
            handler.wfile.write(b" ")
            time.sleep(0.05)


def dripping_headers(handler: Handler, _: str) -> None:
    with suppress(OSError):
        while True:
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            time.sleep(0.05)


BRIEF = Settings(opening=0, retries=0, time_limit=0.3)


@pytest.mark.parametrize("reply", [dripping, dripping_headers])
def test_the_time_limit_is_that_of_a_whole_answer(reply: Reply) -> None:
    start = time.monotonic()
    with serving(reply) as (url, seen), pytest.raises(TimeoutError, match=r"within 0\.3 s"):
        play(TTT, [endpoint(url, "a-model")] * 2, settings=BRIEF)
    assert time.monotonic() - start < 5 and len(seen) == 1


@pytest.mark.parametrize("reply", [dripping, dripping_headers, None])
def test_the_time_limit_ends_endpoints_and_programs_in_threads(reply: Reply | None) -> None:
    start = time.monotonic()
    with serving(reply or no_status) as (url, _):
        player = endpoint(url, "a-model") if reply else of_players.command(["sh", "-c", "sleep 60 & sleep 60"])
        games = tournament(TTT, [player, Participant("first", ask=first)], settings=BRIEF, parallel=2)
        with pytest.raises(TimeoutError, match=r"does not answer: no answer within 0\.3 s"):
            list(games)
    assert time.monotonic() - start < 5


def test_a_function_and_a_program_have_the_time_limit_too() -> None:
    def thinking(text: str) -> str:
        while True:
            time.sleep(0.01)

    program = of_players.command(["sh", "-c", "sleep 60 & sleep 60"])
    for player in (Participant("thinking", ask=thinking), program):
        start = time.monotonic()
        with pytest.raises(TimeoutError, match=r"the player .* does not answer: no answer within 0\.3 s"):
            play(TTT, [player] * 2, settings=Settings(opening=0, retries=0, time_limit=0.3))
        assert time.monotonic() - start < 5


def test_late_answers_in_another_thread_are_refused() -> None:
    errors = list[BaseException]()

    def late() -> None:
        try:
            with of_players.time_limit(0.01):
                time.sleep(0.05)
        except TimeoutError as error:
            errors.append(error)

    thread = threading.Thread(target=late)
    thread.start()
    thread.join()
    assert [str(error) for error in errors] == ["no answer within 0.01 s"]


def test_a_program_without_end_is_ended() -> None:
    """Its answer is too long to be a move, and the record keeps the part that was read."""
    game = play(TTT, [of_players.command(["yes", "move: (0,0)"])] * 2, settings=Settings(opening=0, tries=2))
    noted = game.notes["moves"][0]
    assert game.actions == (-1,) and noted["unparsable"] == 2 and noted["illegal"] == 0
    assert [len(answer) for answer in noted["answers"]] == [of_players.MAX_ANSWER] * 2


def test_a_program_need_not_read_the_prompt() -> None:
    player = of_players.command(["echo", "move: (1,1)"])
    assert player.ask is not None and player.ask("x" * 2**20) == "move: (1,1)\n"


def test_an_answer_that_is_too_long_is_told_to_the_player() -> None:
    asked = list[str]()

    def long(text: str) -> str:
        asked.append(text)
        return f"move: {legal(text)[0]}" + " " * of_players.MAX_ANSWER

    game = play(TTT, [Participant("long", ask=long)] * 2, settings=Settings(opening=0, tries=2))
    assert game.actions == (-1,) and asked[1].endswith("cannot be played: it has more than 262144 characters.\n")
    assert len(asked[1]) < len(asked[0]) + 100
