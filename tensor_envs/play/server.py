"""HTTP server of the play page: static files, and JSON in and out, for this machine or for people with invitations.

A thread per connection reads requests and writes answers. One worker thread runs all games, one request after another.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import UnionType
from typing import Any, get_args
from urllib.parse import unquote

from tensor_envs import web
from tensor_envs._validate import shown
from tensor_envs.play.tables import MAX_SEED, BadRequest, Tables

ADDRESS = "127.0.0.1"
EVERYWHERE = "0.0.0.0"
ELSEWHERE = "192.0.2.1"  # reserved for documents, RFC 5737
MAX_BYTES = 2**15  # maximum size of a request's body
MAX_CONNECTIONS = 64  # connections that wait for their client; a browser holds six
CLIENT_SECONDS = 20.0  # for a client to read an answer and to send its next request
PAGE = Path(web.__file__).parent / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
FILES = {f"/{path.name}": path for path in PAGE.iterdir()} | {"/": PAGE / "index.html"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PLIES = ("at", "hint", "judge", "prompt")  # questions about a ply of a table
ENDING = re.compile(r"\.[a-z]{1,8}")
Body = dict[str, Any]


class Server(ThreadingHTTPServer):
    """Server on 127.0.0.1, or with invitations on another address; port 0 takes a free one.

    With invitations each person of a game has a link of their own, whose key is the only way to the seat. Games are
    begun on this machine alone.

    A slow client blocks no other one: a connection that has waited for its client for `CLIENT_SECONDS` is closed, and
    so is the oldest of more than `MAX_CONNECTIONS` that wait.

    Args:
        port: the TCP port.
        games: importable names of custom games, offered besides.
        exploration: weight of the exploration of players by playout search; None is 4.
        host: address of this machine to listen on, such as "0.0.0.0" for all; None for 127.0.0.1, without invitations.

    Raises:
        OSError: the address is not this machine's, or the port is taken.
    """

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, port: int, games: Sequence[str] = (), exploration: float | None = None, host: str | None = None):
        self.waiting: dict[socket.socket, float] = {}  # connections and their deadlines, oldest first
        self.tables = Tables(exploration)
        self.worker = ThreadPoolExecutor(max_workers=1)
        for name in games:
            self.worker.submit(self.tables.add, name).result()
        try:
            super().__init__((host or ADDRESS, port), Handler)
        except OSError as error:
            raise OSError(f"{host or ADDRESS}:{port} cannot be served: {error.strerror}") from None
        self.here = ADDRESS if host in (None, EVERYWHERE) else host
        names = {ADDRESS, "localhost"}
        if host is not None:
            own = own_address() if host == EVERYWHERE else host
            names |= {host, own}
            self.tables.invites = f"http://{own}:{self.server_port}/"
        self.hosts = {f"{name}:{self.server_port}" for name in names}
        if self.server_port == 80:
            self.hosts |= names

    @property
    def url(self) -> str:
        return f"http://{self.here}:{self.server_port}/"

    def wait_for(self, connection: socket.socket) -> None:
        """Start the deadline of a connection's client."""
        self.waiting.pop(connection, None)
        self.waiting[connection] = time.monotonic() + CLIENT_SECONDS

    def process_request(self, request: Any, client_address: Any) -> None:
        self.wait_for(request)
        self.service_actions()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Close connections past their deadline or beyond the bound; their threads read an end of file."""
        now = time.monotonic()
        deadlines = list(self.waiting.items())
        for newer, (connection, deadline) in enumerate(reversed(deadlines)):
            if newer >= MAX_CONNECTIONS or deadline < now:
                self.waiting.pop(connection, None)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self.waiting.pop(request, None)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        self.worker.shutdown(wait=False, cancel_futures=True)
        self.tables.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print a traceback, unless the client closed the connection."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """Handler of a connection: checks requests and submits them to the worker."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tensor_envs", ""
    timeout = CLIENT_SECONDS  # for a single read or write

    def do_GET(self) -> None:
        self.answer(self.get)

    def do_POST(self) -> None:
        self.answer(self.post)

    # *** routes ***

    def get(self, path: str) -> tuple[bytes, str]:
        if self.headers.get("Content-Length", "0") != "0" or self.headers.get("Transfer-Encoding"):
            raise BadRequest(400, "a GET has no body")
        # files of the page
        if path in FILES:
            return FILES[path].read_bytes(), f"{KINDS[FILES[path].suffix]}; charset=utf-8"
        # data of the page: games, forms and tables, at a ply or as a whole
        match parts(path):
            case ["games.json"]:
                return self.work(Tables.catalogue)
            case ["api", "games", name]:
                return self.work(lambda tables: tables.entry(name))
            case ["api", "games", name, "form"]:
                return self.work(lambda tables: tables.form(name))
            case ["api", "tables", name]:
                return self.work(lambda tables: tables.view(name))
            case ["api", "tables", name, "file", ending]:
                return self.work(lambda tables: tables.find(name).file(ending))
            case ["api", "tables", name, what, ply] if what in PLIES and ply.isdecimal() and len(ply) < 10:
                return self.work(lambda tables: getattr(tables.find(name), what)(int(ply)))
            case ["rules", name]:
                return self.work(lambda tables: tables.rules(name))
            case ["pictures", name]:
                return self.work(lambda tables: tables.picture(name))[0], KINDS[".svg"]
            # what exists, but takes the other method
            case ["api", "games" | "tables" | "files"] | ["api", "tables", _, "act" | "advance" | "undo"]:
                raise BadRequest(405, f"{path} takes POST")
        raise BadRequest(404, f"there is nothing at {path!r}")

    def post(self, path: str) -> tuple[bytes, str]:
        # guests may play at a table, but not create games or tables
        if path in ("/api/games", "/api/tables") and self.server.tables.invites and not self.is_from_here():
            raise BadRequest(403, "games are begun on the machine that invites")
        # games of the form, new tables, and files of games
        match parts(path):
            case ["api", "games"]:
                id, texts = fields(self.body(), id=str, fields=dict)
                if not all(isinstance(text, str) for text in texts.values()):
                    raise BadRequest(400, f"fields must be strings, got {shown(texts)}")
                return self.work(lambda tables: tables.named(id, texts))
            case ["api", "tables"]:
                game, seats, seed, actions = fields(self.body(), game=str, seats=list, seed=int | None, actions=list)
                if not all(isinstance(seat, str) for seat in seats):
                    raise BadRequest(400, f"seats must be strings, got {seats!r}")
                if seed is not None and not 0 <= seed <= MAX_SEED:
                    raise BadRequest(400, f"seed must be in 0..{MAX_SEED}, got {seed}")
                if not all(type(action) is int for action in actions):
                    raise BadRequest(400, f"actions must be integers, got {shown(actions)}")
                return self.work(lambda tables: tables.create(game, seats, seed, actions))
            case ["api", "files"]:
                game, ending, text = fields(self.body(), game=str, ending=str, text=str)
                if not ENDING.fullmatch(ending):
                    raise BadRequest(400, f"ending must be like .pgn, got {shown(ending)}")
                return self.work(lambda tables: tables.read(game, ending, text))
            # changes of a table, each with the ply that it is meant for
            case ["api", "tables", name, "act"]:
                ply, action = fields(self.body(), ply=int, action=int)
                return self.work(lambda tables: tables.change(name, "act", ply, action))
            case ["api", "tables", name, "advance" | "undo" as what]:
                (ply,) = fields(self.body(), ply=int)
                return self.work(lambda tables: tables.change(name, what, ply))
            # what exists, but takes the other method
            case (
                ["games.json"]
                | ["api", "games" | "tables", _]
                | ["api", "games", _, "form"]
                | ["api", "tables", _, "at" | "file" | "hint" | "judge" | "prompt", _]
            ):
                raise BadRequest(405, f"{path} takes GET")
        raise BadRequest(405 if path in FILES else 404, f"there is nothing to post to at {path!r}")

    def work(self, task: Callable[[Tables], Body | str]) -> tuple[bytes, str]:
        """Return content and type of what the worker thread returns for a task."""
        self.server.waiting.pop(self.connection, None)  # the client waits now
        result = self.server.worker.submit(task, self.server.tables).result()
        if isinstance(result, str):
            return result.encode(), "text/plain; charset=utf-8"
        return json.dumps(result).encode(), "application/json"

    # *** checks ***

    def answer(self, route: Callable[[str], tuple[bytes, str]]) -> None:
        """Send what a route returns for this request's path, or the error."""
        try:
            self.check_origin()
            content, kind = route(self.path.partition("?")[0])
            self.send(200, content, kind)
        except BadRequest as error:
            self.refuse(error.status, str(error))
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            traceback.print_exc()
            self.refuse(500, "the server failed; its terminal says how")

    def is_from_here(self) -> bool:
        """Return whether the client is on this machine: it comes from the address that it has called."""
        return self.client_address[0] in (ADDRESS, self.connection.getsockname()[0])

    def check_origin(self) -> None:
        """Refuse other host names and pages of other origins, against DNS rebinding and forged requests."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:
            raise BadRequest(
                403, f"Host must be {' or '.join(sorted(self.server.hosts))}, got {', '.join(hosts) or 'none'}"
            )
        for origin in self.headers.get_all("Origin", []):
            if origin not in {f"http://{host}" for host in self.server.hosts}:
                raise BadRequest(403, f"requests from {origin} are not served")

    def body(self) -> Body:
        """Read and return the JSON object of a POST."""
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise BadRequest(415, f"Content-Type must be application/json, got {kind}")
        length = self.headers.get("Content-Length")
        if length is None or self.headers.get("Transfer-Encoding"):
            raise BadRequest(411, "Content-Length is needed")
        if not (length.isascii() and length.isdigit()):
            raise BadRequest(400, f"Content-Length must be a number, got {length!r}")
        if len(length) > 9 or int(length) > MAX_BYTES:
            raise BadRequest(413, f"a body may have {MAX_BYTES} bytes, got {length}")
        text = self.rfile.read(int(length))
        try:
            body = json.loads(text)
        except ValueError as error:
            raise BadRequest(400, f"the body is no JSON: {error}") from None
        except RecursionError:
            raise BadRequest(400, "the body is nested too deep") from None
        if not isinstance(body, dict):
            raise BadRequest(400, f"the body must be a JSON object, got {type(body).__name__}")
        return body

    # *** answers ***

    def refuse(self, status: int, message: str) -> None:
        """Send an error and close the connection, whose body may be unread."""
        self.close_connection = True
        self.send(status, json.dumps({"error": message}).encode(), "application/json")

    def send(self, status: int, content: bytes, kind: str) -> None:
        self.server.wait_for(self.connection)
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send the errors that the standard library finds: malformed request lines and headers, other methods."""
        status = 405 if code == 501 else code
        self.refuse(status, message or HTTPStatus(status).phrase)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing: the page shows errors."""


def own_address() -> str:
    """Return the address by which other machines reach this one; 127.0.0.1 without a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect((ELSEWHERE, 1))  # sends nothing: it selects the network interface
        return str(probe.getsockname()[0])
    return ADDRESS


def parts(path: str) -> list[str]:
    """Return the decoded segments of a path."""
    return [unquote(part) for part in path.strip("/").split("/")]


def fields(body: Body, **kinds: type | UnionType) -> list[Any]:
    """Return the entries of a body.

    Raises:
        BadRequest: the body lacks one, has another, or one is of another type.
    """
    if body.keys() != kinds.keys():
        raise BadRequest(400, f"the body must have {', '.join(kinds)}, got {', '.join(map(str, body)) or 'nothing'}")
    for name, kind in kinds.items():
        allowed = get_args(kind) or (kind,)
        if type(body[name]) not in allowed:
            raise BadRequest(400, f"{name} must be of type {allowed[0].__name__}, got {shown(body[name])}")
    return [body[name] for name in kinds]
