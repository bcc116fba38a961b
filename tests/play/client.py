"""Requests to a server of tensor_envs.play."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from typing import Any
from urllib.parse import urlsplit

JSON = {"Content-Type": "application/json"}
TWO = ["person", "person"]
MINUTE = 60.0
GAME = {"game": "tic_tac_toe", "seats": TWO, "seed": 0, "actions": []}


class Answer:
    def __init__(self, answer: http.client.HTTPResponse):
        self.status, self.headers, self.content = answer.status, answer.headers, answer.read()

    @property
    def json(self) -> Any:
        assert self.headers.get_content_type() == "application/json"
        return json.loads(self.content)


def ask(url: str, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
    """Send a request; a body that is neither bytes nor None is sent as JSON."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, content, (JSON if body is not None else {}) | (headers or {}))
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def create(url: str, game: str = "tic_tac_toe", seats: list[str] = TWO, seed: int = 0) -> dict[str, Any]:
    answer = ask(url, "POST", "/api/tables", {"game": game, "seats": seats, "seed": seed, "actions": []})
    assert answer.status == 200, answer.content
    view: dict[str, Any] = answer.json
    return view


def advance(url: str, view: dict[str, Any], ply: int) -> Any:
    """Ask for the computer's move until it is no longer being computed."""
    while (after := ask(url, "POST", f"/api/tables/{view['table']}/advance", {"ply": ply}).json)["waiting"]:
        time.sleep(0.05)
    return after


def sleep(searcher: Any) -> None:
    """Start a process that answers nothing for long, in place of one that searches."""
    command = [sys.executable, "-c", f"import time; time.sleep({MINUTE})"]
    searcher._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def act(url: str, view: dict[str, Any], action: int) -> Answer:
    return ask(url, "POST", f"/api/tables/{view['table']}/act", {"ply": view["ply"], "action": action})
