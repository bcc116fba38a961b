"""Exported shaders, run by a browser's WebGPU, play the games of the Python environment."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from tensor_envs.export import export
from tensor_envs.export.files import name_of
from tensor_envs.export.functions import arrays
from tests.export.shared import SEED, TURNS, transcript
from tests.games.shared import shared_env

BATCH, STEPS = 2048, 20
CHROMIUM = shutil.which("chromium")
OPTIONS = [
    *("--headless", "--no-sandbox", "--no-first-run", "--disable-background-networking"),
    *("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),  # runs on any processor
]
SECONDS = 300

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.extra,
    pytest.mark.skipif(CHROMIUM is None, reason="WGSL is run by chromium, which is not here"),
]


@contextmanager
def served(files: dict[str, tuple[str, bytes]]) -> Iterator[tuple[str, SimpleQueue[Any]]]:
    """Serve files with their types, and yield the address and a queue of posted messages."""
    posted: SimpleQueue[Any] = SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, code: int, kind: str, content: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            self._answer(*(200, *files[self.path]) if self.path in files else (404, "text/plain", b""))

        def do_POST(self) -> None:
            posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self._answer(200, "text/plain", b"")

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", posted
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.few("tic_tac_toe")
@pytest.mark.page
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "kuhn_poker", "three_will"])
def test_shader_plays_as_python(name: str, tmp_path: Path) -> None:
    env = shared_env(name)
    export(env, "wgsl", tmp_path / "game.wgsl")
    sizes = {array: size * BATCH * dtype.itemsize for array, (dtype, size) in arrays(env).items()}
    job = {
        "source": (tmp_path / "game.wgsl").read_text(),
        "prefix": name_of(env),
        "bytes": sizes | {"numbers": 12},
        "actions": env.num_actions,
        "lanes": 64,
        "seed": [SEED % 2**32, SEED >> 32],
        "games": BATCH,
        "steps": STEPS,
        "turns": TURNS,
    }
    files = {
        "/": ("text/html", b'<script type="module" src="webgpu.js"></script>'),
        "/webgpu.js": ("text/javascript", Path(__file__).with_name("webgpu.js").read_bytes()),
        "/job.json": ("application/json", json.dumps(job).encode()),
    }
    with served(files) as (url, posted):
        command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={tmp_path / 'profile'}", url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                answer = posted.get(timeout=SECONDS)
            finally:
                browser.terminate()
    assert answer == [hashlib.sha256(part).hexdigest() for part in transcript(name, BATCH, STEPS)]
