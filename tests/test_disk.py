"""Saved files on a full disk, with killed processes, and where nothing can be written.

tests/test_files.py has the format of files, tests/runtime/test_cache.py the cache of programs.
"""

from __future__ import annotations

import errno
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs.export import export, files
from tensor_envs.games.shed.solve import solve
from tensor_envs.games.shed.tablebase import Tablebase
from tensor_envs.train import network
from tests.games.shared import shared_env
from tests.mounted import ROOT, run_mounted, unshare
from tests.test_files import room_for

pytestmark = pytest.mark.cpu
Save = Callable[[Path], object]
Load = Callable[[Path], list[np.ndarray]]


class Saved(NamedTuple):
    """Two versions of a file with their contents, and the function that loads it."""

    versions: tuple[Save, Save]
    expected: tuple[list[np.ndarray], list[np.ndarray]]
    load: Load


def states() -> Saved:
    env = shared_env("tic_tac_toe")
    both = [env.init(batch, seed=batch) for batch in (30_000, 40_000)]

    def arrays(state: te.State) -> list[np.ndarray]:
        return [np.array(state.buffers.layout.download(t)) for t in state.tensors]

    one, two = (partial(te.save_state, state) for state in both)
    return Saved((one, two), (arrays(both[0]), arrays(both[1])), lambda path: arrays(te.load_state(path)))


def networks() -> Saved:
    env, rng = shared_env("tic_tac_toe"), np.random.default_rng(3)
    shapes = {name: w.shape for name, w in network.Network(env, hidden=400).weights().items()}
    both = [{name: rng.normal(size=s).astype(np.float16) for name, s in shapes.items()} for _ in range(2)]
    tensors = [{name: Tensor(w).realize() for name, w in one.items()} for one in both]
    one, two = (partial(network.save, env, weights) for weights in tensors)
    return Saved(
        (one, two), (list(both[0].values()), list(both[1].values())), lambda path: list(network.load(path)[1].values())
    )


def solutions() -> Saved:
    env = shared_env("tic_tac_toe")
    both = [te.solve(env, symmetry=symmetry) for symmetry in (True, False)]

    def arrays(solution: Any) -> list[np.ndarray]:
        return [np.array(array) for array in solution._arrays().values()]

    return Saved(
        (both[0].save, both[1].save), (arrays(both[0]), arrays(both[1])), lambda path: arrays(type(both[0]).load(path))
    )


def tables() -> Saved:
    both = [solve(cards, "CPU", progress=False) for cards in (9, 10)]

    def arrays(path: Path) -> list[np.ndarray]:
        return list(map(np.array, Tablebase.contents(path)[2]))

    expected = [[t.numpy() for t in table.results] for table in both]
    return Saved((both[0].write, both[1].write), (expected[0], expected[1]), arrays)


def exports() -> Saved:
    env = shared_env("tic_tac_toe")
    one, two = (partial(export, env, "c", lanes=lanes) for lanes in (64, 1))
    texts = [[np.frombuffer(files.c(env, lanes).encode(), np.uint8)] for lanes in (64, 1)]
    return Saved((one, two), (texts[0], texts[1]), lambda path: [np.frombuffer(path.read_bytes(), np.uint8)])


KINDS = {"state": states, "network": networks, "solution": solutions, "shed table": tables, "export": exports}
KILLS = 100
KILLED = [kind for kind in KINDS if kind != "export"]  # an export takes long to make, and is written like all others


def is_version(saved: Saved, path: Path, k: int) -> bool:
    loaded, expected = saved.load(path), saved.expected[k]
    return len(loaded) == len(expected) and all(
        a.shape == b.shape and (a == b).all() for a, b in zip(loaded, expected, strict=True)
    )


# *** a full disk ***


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill the disk of a folder, except for half a KiB of a page."""
    ballast = folder / "ballast"
    with suppress_full(), open(ballast, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    yield
    ballast.unlink()


@contextmanager
def suppress_full() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def check_full(kind: str, folder: Path, full: Callable[[], AbstractContextManager[None]]) -> None:
    """Save where there is no room: an error names the file, the old file stays, and no other file does."""
    saved, path = KINDS[kind](), folder / "file"
    saved.versions[0](path)
    old = path.read_bytes()
    names = {p.name for p in folder.iterdir()}
    with full():
        for target in (path, folder / "new"):
            with pytest.raises(OSError, match="cannot save") as caught:
                saved.versions[1](target)
            assert caught.value.errno in (errno.ENOSPC, errno.EFBIG), caught.value
            assert caught.value.filename == str(target)
            assert {p.name for p in folder.iterdir()} - {"ballast"} == names
    assert path.read_bytes() == old and is_version(saved, path, 0)
    saved.versions[1](path)
    assert is_version(saved, path, 1) and not is_version(saved, path, 0)
    path.unlink()


@pytest.mark.slow
def test_files_too_large_for_the_system(tmp_path: Path) -> None:
    for kind in KINDS:
        check_full(kind, tmp_path, partial(room_for, 4096))
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [["state"], [*KINDS]], ids=["one", "all"])
def test_a_full_disk(kinds: list[str], tmp_path: Path) -> None:
    """Saves fail cleanly on a real disk that is full."""
    code = f"from tests.test_disk import *\nfor kind in {kinds}: check_full(kind, folder, partial(filled, folder))"
    done = run_mounted(tmp_path, 8192, code)
    assert done.returncode == 0, done.stderr


LEARN = """
import subprocess, sys
from tests.test_disk import *
run = folder / "run"
def learn(steps):
    small = "--num-envs 8 --rollout-length 2 --hidden 8 --replay-steps 2 --updates 1 --ratings 0".split()
    command = [sys.executable, "-m", "tensor_envs.train", "alphazero", "tic_tac_toe", "--steps", str(steps), *small]
    return subprocess.run([*command, "--folder", str(run)], capture_output=True, text=True, cwd=ROOT)
first = learn(2)
assert first.returncode == 0, first.stderr
old = {path.name: path.read_bytes() for path in run.iterdir()}
with filled(folder):
    second = learn(2000)
    assert second.returncode != 0 and "cannot save: No space left on device" in second.stderr, second.stderr
    assert "Traceback" not in second.stderr and str(run) in second.stderr, second.stderr
now = {path.name: path.read_bytes() for path in run.iterdir()}
assert now.keys() == old.keys() and all(now[name] == old[name] for name in old if name != "metrics.jsonl")
te.train.AlphaZero.load(run)
te.agents.load(run / "weights.safetensors")
assert learn(3).returncode == 0
"""


@pytest.mark.slow
def test_training_on_a_full_disk(tmp_path: Path) -> None:
    """The command names the error, and the earlier weights stay."""
    done = run_mounted(tmp_path, 1024, LEARN)
    assert done.returncode == 0, done.stderr


# *** killed processes ***


def kill_savers(kind: str, folder: Path, kills: int) -> tuple[int, int, int]:
    """Fork processes that save both versions in a loop, and kill each at a random moment.

    Returns:
        How often the file was the first version, how often the second, and the number of partial files that killed
        processes left.
    """
    saved, path, moments = KINDS[kind](), folder / "file", random.Random(kind)
    saved.versions[0](path)
    begin = time.perf_counter()
    for save in saved.versions[::-1]:
        save(path)
    seconds = time.perf_counter() - begin
    counts, parts = [0, 0], 0
    for _ in range(kills):
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.write(writer, b"x")
            while True:
                for save in saved.versions[::-1]:
                    save(path)
        os.read(reader, 1)
        time.sleep(moments.uniform(0, 3 * seconds))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        os.close(reader)
        os.close(writer)
        which = [k for k in (0, 1) if is_version(saved, path, k)]
        assert len(which) == 1, "the file is one of the two versions"
        counts[which[0]] += 1
        part_files = [p.name for p in folder.iterdir() if p != path]
        assert len(part_files) <= 1 and all(re.fullmatch(r"\.file\.[0-9a-f]{16}\.part", name) for name in part_files)
        parts += len(part_files)
    saved.versions[0](path)
    assert list(folder.iterdir()) == [path] and is_version(saved, path, 0)
    return counts[0], counts[1], parts


@pytest.mark.slow
def test_killed_while_saving(tmp_path: Path) -> None:
    """The file is always one of two complete versions, and the next save removes partial files.

    Each kind of file has KILLS processes.
    """
    code = "import sys; from pathlib import Path; from tests.test_disk import *\n"
    code += "for kind in KILLED:\n folder = Path(sys.argv[1], kind); folder.mkdir()\n"
    code += f" print(*kill_savers(kind, folder, {KILLS}))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    # On a loaded machine all processes of one kind may be killed before, or after, their first save.
    counts = np.array([line.split() for line in done.stdout.splitlines()], int)
    assert counts.shape == (len(KILLED), 3) and (counts.sum(0) > KILLS / 10).all(), counts


# *** nothing can be written ***

EVERYTHING = """
import os, subprocess, sys, urllib.request, warnings
from pathlib import Path
place, root = Path(sys.argv[1]), Path(sys.argv[2])
for closed in (Path.cwd(), Path.home(), Path(os.environ["TENSOR_ENVS_CACHE"]).parent):
    try:
        (closed / "new").write_text("x")
    except OSError:
        continue
    raise AssertionError(f"{closed} can be written")
warnings.filterwarnings("error")
warnings.filterwarnings("ignore", "tinygrad's kernels are compiled anew", RuntimeWarning)
import tensor_envs as te

env = te.make("tic_tac_toe")
state = env.step(env.init(5), [4, 0, 1, 2, 3])
assert te.search.playout_policy(state, 16).search_tree.visit_counts.sum(1).tolist() == [16] * 5
assert te.rollout(env, "uniform", batch=5, steps=9).wins.numpy().sum() > 0
assert "765 positions" in repr(te.solve(env, path=place / "solution")) and (place / "solution").exists()
te.save_state(state, place / "state")
assert te.load_state(place / "state").batch == 5
env.render(state)
try:
    te.save_state(state, "state")
except OSError as error:
    assert "cannot save" in str(error) and error.filename == "state", error
else:
    raise AssertionError("a state was saved where nothing can be written")

text = [sys.executable, "-m", "tensor_envs.referee", "tic_tac_toe", "--player", "uniform", "--command", "cat"]
done = subprocess.run(text, capture_output=True, text=True)
assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
command = [sys.executable, "-m", "tensor_envs.play", "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
    address = server.stdout.readline().split()[1].rstrip(";")
    page = urllib.request.urlopen(address).read()
    server.terminate()
assert b"<html" in page.lower(), page[:200]
print("done")
"""


def check_read_only(command: list[str], place: Path, closed: str) -> None:
    cache = {"TENSOR_ENVS_CACHE": f"{closed}/cache", "HOME": closed, "TMPDIR": closed}
    environment = {name: value for name, value in os.environ.items() if name not in ("XDG_CACHE_HOME", "CACHEDB")}
    done = subprocess.run(
        [*command, sys.executable, "-c", EVERYTHING, str(place), str(ROOT)],
        env=environment | cache | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=closed,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.slow
def test_a_read_only_system(tmp_path: Path) -> None:
    """One folder is writable; the working directory, HOME, the cache and temporary folders are read-only."""
    script = 'mount -t tmpfs tmpfs "$0" && mount -o remount,bind,ro / && exec "$@"'
    check_read_only([*unshare(), "sh", "-c", script, str(tmp_path)], tmp_path, "/")


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_folders_without_permission_to_write(tmp_path: Path) -> None:
    closed, place = tmp_path / "closed", tmp_path / "place"
    place.mkdir()
    closed.mkdir(mode=0o555)
    check_read_only([], place, str(closed))
