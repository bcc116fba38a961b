"""Kernels in WGSL give the CPU device's results bit for bit in a browser's WebGPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from tensor_envs.web.batch import wgsl
from tensor_envs.web.site import build
from tests.games.shared import shared_env
from tests.web.test_kernels import BATCH, PAGE, SEED, digest

CHROMIUM = shutil.which("chromium")
PYODIDE = os.environ.get("TENSOR_ENVS_PYODIDE")  # folder of its npm package
OPTIONS = [
    *("--headless", "--no-sandbox", "--no-first-run", "--disable-background-networking"),
    *("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),  # runs on any processor
]
STEPS, SECONDS = 20, 300
KERNELS = ["seed", "init", "uniform", "sample", "step"]

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


def in_a_browser(job: dict[str, Any], site: Path, profile: Path) -> Any:
    """Return the answer of `webgpu.js` with the files of a page."""
    files = {
        f"/{path.relative_to(site).as_posix()}": (guess_type(path)[0] or "text/javascript", path.read_bytes())
        for path in (*site.glob("*.js"), *site.glob("python/*"))
    }
    numbers = {"seed": [SEED % 2**32, SEED >> 32], "steps": STEPS}
    files |= {
        "/": ("text/html", b'<p id="python"></p><script type="module" src="webgpu.js"></script>'),
        "/webgpu.js": ("text/javascript", Path(__file__).with_name("webgpu.js").read_bytes()),
        "/job.json": ("application/json", json.dumps({**numbers, **job}).encode()),
    }
    with served(files) as (url, posted):
        command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={profile}", url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                return posted.get(timeout=SECONDS)
            finally:
                browser.terminate()


@pytest.mark.parametrize("name", ["tic_tac_toe", pytest.param("three_will", marks=pytest.mark.slow)])
def test_every_step_in_a_browser_is_the_cpu_devices(name: str, tmp_path: Path) -> None:
    env = shared_env(name)
    reply = in_a_browser({"made": wgsl(env, BATCH, KERNELS)}, PAGE, tmp_path)
    assert reply == {"adapter": "swiftshader", "digest": digest(env, STEPS, rollout=0)}


@pytest.mark.slow
@pytest.mark.skipif(PYODIDE is None, reason="its kernels are traced by Python in the browser")
def test_kernels_traced_in_a_browser_are_the_cpu_devices(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site, ["tic_tac_toe"], PYODIDE)
    job = ["hyper_tic_tac_toe(shape=(4, 4))", BATCH, KERNELS]
    reply = in_a_browser({"asked": job}, site, tmp_path / "profile")
    env = shared_env("hyper_tic_tac_toe", shape=(4, 4))
    assert reply == {"adapter": "swiftshader", "digest": digest(env, STEPS, rollout=0)}
