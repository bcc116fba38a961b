"""Exported shaders, run by a browser's WebGPU, play the games of the Python environment."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tensor_envs.export import export
from tensor_envs.export.files import name_of
from tensor_envs.export.functions import arrays
from tests.export.shared import SEED, TURNS, transcript
from tests.games.shared import shared_env
from tests.web.test_webgpu import CHROMIUM, OPTIONS, SECONDS, served

BATCH, STEPS = 2048, 20

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.extra,
    pytest.mark.skipif(CHROMIUM is None, reason="WGSL is run by chromium, which is not here"),
]


@pytest.mark.few("tic_tac_toe")
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
