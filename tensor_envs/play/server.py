"""The HTTP side of a page to play at: for this machine only, the standard library's server, JSON in and out.

Requests are read on threads of their own, since browsers hold connections open; all that touches games is done by one
worker, one request after the other.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from types import UnionType
from typing import Any, get_args
from urllib.parse import unquote

from tensor_envs import web
from tensor_envs._validate import shown
from tensor_envs.play.tables import MOST_SEED, Refusal, Tables

ADDRESS = "127.0.0.1"
MOST_BYTES = 2**15  # of a request's body
MOST_CONNECTIONS = 64  # a browser holds six
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PAGE = Path(web.__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
FILES = {f"/{path.name}": path for path in PAGE.iterdir()} | {"/": PAGE / "index.html"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
Body = dict[str, Any]


class Server(ThreadingHTTPServer):
    """Listens on 127.0.0.1 alone; port 0 takes a free one. OSError if the port is taken.

    games: importable names of games of a user's own, offered besides. Every connection has a thread; those beyond
    `MOST_CONNECTIONS` are told to come again.
    """

    daemon_threads = True

    def __init__(self, port: int, games: Sequence[str] = ()):
        self.free = BoundedSemaphore(MOST_CONNECTIONS)
        self.tables, self.worker = Tables(), ThreadPoolExecutor(max_workers=1)
        for name in games:
            self.worker.submit(self.tables.add, name).result()
        super().__init__((ADDRESS, port), Handler)
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}
        if self.server_port == 80:
            self.hosts |= {ADDRESS, "localhost"}

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.sendall(BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def server_close(self) -> None:
        super().server_close()
        self.worker.shutdown(wait=False, cancel_futures=True)
        self.tables.solver.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that has gone away is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """A request: checked here, done by the worker."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tensor_envs", ""
    timeout = 20  # seconds that a silent connection is kept

    def do_GET(self) -> None:
        self.answer(self.get)

    def do_POST(self) -> None:
        self.answer(self.post)

    # *** what there is ***

    def get(self, path: str) -> tuple[bytes, str]:
        if path in FILES:
            return FILES[path].read_bytes(), f"{KINDS[FILES[path].suffix]}; charset=utf-8"
        match parts(path):
            case ["games.json"]:
                return self.work(Tables.catalogue)
            case ["api", "games", name]:
                return self.work(lambda tables: tables.about(name))
            case ["api", "games", name, "form"]:
                return self.work(lambda tables: tables.form(name))
            case ["api", "tables", name]:
                return self.work(lambda tables: tables.view(name))
            case ["api", "tables", name, "position"]:
                return self.work(lambda tables: tables.position(name))
            case ["rules", name]:
                text = self.server.worker.submit(self.server.tables.rules, name).result()
                return text.encode(), "text/plain; charset=utf-8"
            case ["api", "games" | "tables"] | ["api", "tables", _, "act" | "advance" | "undo"]:
                raise Refusal(405, f"{path} takes POST")
        raise Refusal(404, f"there is nothing at {path!r}")

    def post(self, path: str) -> tuple[bytes, str]:
        match parts(path):
            case ["api", "games"]:
                id, texts = fields(self.body(), id=str, fields=dict)
                if not all(isinstance(text, str) for text in texts.values()):
                    raise Refusal(400, f"fields must be strings, got {shown(texts)}")
                return self.work(lambda tables: tables.named(id, texts))
            case ["api", "tables"]:
                game, seats, seed, actions = fields(
                    self.body(), game=str, seats=list, seed=int | None, actions=list
                )
                if not all(isinstance(seat, str) for seat in seats):
                    raise Refusal(400, f"seats must be strings, got {seats!r}")
                if seed is not None and not 0 <= seed <= MOST_SEED:
                    raise Refusal(400, f"seed must be in 0..{MOST_SEED}, got {seed}")
                if not all(type(action) is int for action in actions):
                    raise Refusal(400, f"actions must be integers, got {shown(actions)}")
                return self.work(lambda tables: tables.create(game, seats, seed, actions))
            case ["api", "tables", name, "act"]:
                ply, action = fields(self.body(), ply=int, action=int)
                return self.work(lambda tables: tables.change(name, "act", ply, action))
            case ["api", "tables", name, "advance" | "undo" as what]:
                (ply,) = fields(self.body(), ply=int)
                return self.work(lambda tables: tables.change(name, what, ply))
            case (
                ["games.json"]
                | ["api", "games" | "tables", _]
                | ["api", "games", _, "form"]
                | ["api", "tables", _, "position"]
            ):
                raise Refusal(405, f"{path} takes GET")
        raise Refusal(405 if path in FILES else 404, f"there is nothing to post to at {path!r}")

    def work(self, task: Callable[[Tables], Body]) -> tuple[bytes, str]:
        done = self.server.worker.submit(task, self.server.tables).result()
        return json.dumps(done).encode(), "application/json"

    # *** what a request must be ***

    def answer(self, find: Callable[[str], tuple[bytes, str]]) -> None:
        try:
            self.check_origin()
            content, kind = find(self.path.partition("?")[0])
            self.send(200, content, kind)
        except Refusal as refusal:
            self.refuse(refusal.status, str(refusal))
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            traceback.print_exc()
            self.refuse(500, "the server failed; its terminal says how")

    def check_origin(self) -> None:
        """No other name of this machine, and no page from elsewhere: against DNS rebinding and forged requests."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise Refusal(
                403,
                f"Host must be {' or '.join(sorted(self.server.hosts))}, got {', '.join(hosts) or 'none'}",
            )
        origin = self.headers.get("Origin")
        if origin is not None and origin.removeprefix("http://") not in self.server.hosts:
            raise Refusal(403, f"requests from {origin} are not served")

    def body(self) -> Body:
        """The JSON object of a POST."""
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise Refusal(415, f"Content-Type must be application/json, got {kind}")
        length = self.headers.get("Content-Length")
        if length is None or self.headers.get("Transfer-Encoding"):
            raise Refusal(411, "Content-Length is needed")
        if not (length.isascii() and length.isdigit()):
            raise Refusal(400, f"Content-Length must be a number, got {length!r}")
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise Refusal(413, f"a body may have {MOST_BYTES} bytes, got {length}")
        text = self.rfile.read(int(length))
        try:
            found = json.loads(text)
        except ValueError as error:
            raise Refusal(400, f"the body is no JSON: {error}") from None
        except RecursionError:
            raise Refusal(400, "the body is nested too deep") from None
        if not isinstance(found, dict):
            raise Refusal(400, f"the body must be a JSON object, got {type(found).__name__}")
        return found

    # *** answers ***

    def refuse(self, status: int, message: str) -> None:
        """An error; the connection is closed, since a body may lie there unread."""
        self.close_connection = True
        self.send(status, json.dumps({"error": message}).encode(), "application/json")

    def send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses by itself: malformed request lines and headers, other methods."""
        status = 405 if code == 501 else code
        self.refuse(status, message or HTTPStatus(status).phrase)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Silent: the page says what is wrong."""


def parts(path: str) -> list[str]:
    """Of a path, each as it was before it was made a part of an address."""
    return [unquote(part) for part in path.strip("/").split("/")]


def fields(body: Body, **kinds: type | UnionType) -> list[Any]:
    """The entries of a body, which has these and no others, each of its type. Refusal otherwise."""
    if body.keys() != kinds.keys():
        raise Refusal(
            400, f"the body must have {', '.join(kinds)}, got {', '.join(map(str, body)) or 'nothing'}"
        )
    for name, kind in kinds.items():
        allowed = get_args(kind) or (kind,)
        if type(body[name]) not in allowed:
            raise Refusal(400, f"{name} must be of type {allowed[0].__name__}, got {shown(body[name])}")
    return [body[name] for name in kinds]
