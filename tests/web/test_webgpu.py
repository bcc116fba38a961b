"""Kernels in WGSL: a browser's WebGPU plays with them what the CPU device plays, bit for bit."""

from __future__ import annotations

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

import numpy as np
import pytest
from tinygrad import UOp
from tinygrad.helpers import Target
from tinygrad.renderer import Estimates
from tinygrad.renderer.wgsl import WGSLRenderer
from tinygrad.uop.ops import Ops

import tensor_envs as te
from tensor_envs.core.backend.launch import program_of
from tensor_envs.core.kernels.block import LANES, Grid
from tensor_envs.web.batch import arrays, traced
from tests.games.shared import shared_env
from tests.web.test_kernels import BATCH, SEED, digest

CHROMIUM = shutil.which("chromium")
OPTIONS = [
    *("--headless", "--no-sandbox", "--no-first-run", "--disable-background-networking"),
    *("--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),  # on any processor
]
STEPS, SECONDS = 20, 300

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.extra,
    pytest.mark.skipif(CHROMIUM is None, reason="WGSL is run by chromium, which is not here"),
]


def job(env: te.Env) -> dict[str, Any]:
    """A game's kernels in WGSL as tinygrad writes it, and the arrays that they take."""
    renderer, known, grid = WGSLRenderer(Target("WEBGPU")), arrays(env), Grid(BATCH // LANES, LANES, gpu=True)
    sizes = [values * BATCH or 4 for _, values in known.values()]  # those that are of no game are short
    parameters = [
        UOp.placeholder((size,), dtype, k)
        for k, (size, (dtype, _)) in enumerate(zip(sizes, known.values(), strict=True))
    ]
    kernels = {}
    for name in ("seed", "init", "uniform", "sample", "step"):
        program, used = program_of(
            f"{name}_games", traced(env, name, grid), parameters, renderer, estimates=lambda _: Estimates()
        )
        kernels[name] = {
            "source": next(part.arg for part in program.src if part.op is Ops.SOURCE),
            "entryPoint": program.arg.function_name,
            "groups": program.arg.global_size,
            "names": [list(known)[place] for place in used],
        }
    scalars = np.array([SEED % 2**32, SEED >> 32, 0], np.uint32).view(np.int32).tolist()
    bytes_ = {name: 4 * size for name, size in zip(known, sizes, strict=True)}
    return {"kernels": kernels, "arrays": bytes_, "scalars": scalars, "steps": STEPS}


@contextmanager
def served(files: dict[str, tuple[str, bytes]]) -> Iterator[tuple[str, SimpleQueue[Any]]]:
    """A server of some files of some types -> its address, and what is posted to it."""
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


@pytest.mark.parametrize("name", ["tic_tac_toe", pytest.param("three_will", marks=pytest.mark.slow)])
def test_every_step_in_a_browser_is_the_cpu_devices(name: str, tmp_path: Path) -> None:
    env = shared_env(name)
    files = {
        "/": ("text/html", b'<script type="module" src="webgpu.js"></script>'),
        "/webgpu.js": ("text/javascript", Path(__file__).with_name("webgpu.js").read_bytes()),
        "/job.json": ("application/json", json.dumps(job(env)).encode()),
    }
    with served(files) as (url, posted):
        command = [str(CHROMIUM), *OPTIONS, f"--user-data-dir={tmp_path}", url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            try:
                found = posted.get(timeout=SECONDS)
            finally:
                browser.terminate()
    assert found == {"adapter": "swiftshader", "digest": digest(env, STEPS)}
