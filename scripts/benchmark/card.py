"""Check games on a CUDA card against the CPU, then measure steps, learners and searches there.

    python scripts/gpu_check.py
    python scripts/gpu_check.py --minutes 4 --json card.json
    python scripts/gpu_check.py --training 6

The first two fifths of the time go to the tests that compare every game and task with the CPU, bit for bit; a test that
has not begun by then is not run. Then each row of the tables is measured, the most important first, until the time is
up. Rows with an aim say whether it is reached. Rows beside other libraries need PyTorch, or JAX with Pgx and mctx.
With --training a residual network then learns connect four from nothing for that many minutes more, and exact values
judge its moves in critical positions; --overlap has it learn during self-play. Without a card the program says so and
ends with 0.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tinygrad import Device

import tensor_envs as te
from tensor_envs._command import command_parser, run, whole
from tensor_envs._runtime.cuda import tinygrad_operation

ROOT = Path(__file__).parents[2]
TESTS = ("tests/test_interop_cuda.py", "tests/test_devices.py")
TEST_SHARE = 0.4  # of the time
ROUNDS = 4  # of a measurement, of which the best counts
SECONDS = 0.05  # of a round, at least
BLOCKS = 5  # of the residual network
CHANNELS = 64  # of the residual network
TRAINING = "Training from nothing"  # title of its table
JUDGED = 2000  # random games whose positions judge a trained player
JUDGED_PLY = 20  # of these positions


class Row(NamedTuple):
    """A measured number.

    Attributes:
        name: what was measured.
        value: the number, in `unit`.
        unit: its unit.
        aim: what is aimed at, in words; empty if nothing is.
        reached: whether the aim is reached; None without one.
    """

    name: str
    value: float
    unit: str
    aim: str = ""
    reached: bool | None = None


def card() -> str | None:
    """Return the name of the first card; None if there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        name = ctypes.create_string_buffer(100)
        works = driver.cuInit(0) == 0 and driver.cuDeviceGetName(name, 100, 0) == 0
    except OSError:  # no driver
        return None
    return name.value.decode() if works else None


def seconds_of(*calls: Callable[[], object]) -> list[float]:
    """Return the seconds of each call: the best of several rounds, each of many calls with one synchronisation.

    The rounds of the calls alternate, since the processor is shared with others.
    """
    counts = []
    for call in calls:
        for _ in range(2):
            call()
        synchronize()
        counts.append(max(1, math.ceil(SECONDS / seconds_of_round(call, 1))))
    rounds = [list(map(seconds_of_round, calls, counts)) for _ in range(ROUNDS)]
    return [min(column) for column in zip(*rounds, strict=True)]


def seconds_of_round(call: Callable[[], object], count: int) -> float:
    """Return the seconds of a call that is repeated `count` times before a synchronisation."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronize()
    return (time.perf_counter() - start) / count


def synchronize() -> None:
    """Wait for the kernels of both libraries."""
    with tinygrad_operation():  # tinygrad's stream waits for the launches, and its context does not stay current
        Device["CUDA"].synchronize()  # type: ignore[no-untyped-call]
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.synchronize()


# *** correctness ***


def tests(seconds: float) -> Iterator[Row]:
    """Run the tests that compare every game and task on the card with the CPU."""
    command = [
        sys.executable,
        "-u",
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:benchmark",
        "-m",
        "slow or not slow",
        *TESTS,
    ]
    if importlib.util.find_spec("xdist"):
        command += ["-n", str(max(1, (os.cpu_count() or 2) - 2))]
    environment = {**os.environ, "TENSOR_ENVS_TEST_DEVICES": "CUDA"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
    passed, failed = (
        # lines of the summary, which name failures again, begin with the word
        len(re.findall(rf"^(?!FAILED|ERROR).*\b(?:{words})\b", output, re.M))
        for words in ("PASSED", "FAILED|ERROR")
    )
    if not passed or failed:
        print(output[-4000:])
    yield Row("tests passed", passed, "", "some", passed > 0)
    yield Row("tests failed", failed, "", "none", failed == 0)


# *** steps ***


def bandwidth() -> float:
    """Return the bytes per second, read plus written, of a copy on the card."""
    torch = importlib.import_module("torch")
    source = torch.ones(2**28, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / seconds_of(lambda: target.copy_(source))[0]


def first_step(name: str, batch: int) -> float:
    """Return the seconds of a game's first step in a new process that finds no compiled programs."""
    program = f"""
import time
from tinygrad import Device
import tensor_envs as te
vector = te.VectorEnv(te.make({name!r}), {batch}, device="CUDA")
start = time.perf_counter()
vector.step_uniform()
Device["CUDA"].synchronize()
print(time.perf_counter() - start)
"""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TENSOR_ENVS_CACHE": folder, "CACHEDB": f"{folder}/kernels.db"}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def steps() -> Iterator[Row]:
    """Measure bare steps, steps that write what learners read, and rollouts."""
    peak = bandwidth()
    yield Row("copy on the card", peak / 1e12, "TB/s")
    for name, batch in (("connect_four", 2**20), ("othello", 2**20), ("go", 2**19), ("chess", 2**18)):
        env = te.make(name)
        if name == "chess":
            first = first_step(name, batch)
            yield Row(f"{name}, first step, nothing compiled before", first, "s", "at most 8 s", first <= 8)
        vector = te.VectorEnv(env, batch, device="CUDA")
        size = sum(t.nbytes() for t in vector.buffers[:2]) + vector.buffers.words.nbytes()
        (took,) = seconds_of(vector.step_uniform)
        share = size / took / peak
        aim = ("at least .5", share >= 0.5) if name == "chess" else ("", None)
        yield Row(f"{name}, {batch} games, bare step", batch / took / 1e9, "G/s")
        yield Row(f"{name}, share of the bandwidth", share, "", *aim)
        observing = te.VectorEnv(env, batch, device="CUDA", observe=True)
        (read,) = seconds_of(observing.step_uniform)
        yield Row(f"{name}, {batch} games, step to read", batch / read / 1e9, "G/s")
        (rollout,) = seconds_of(partial(te.rollout, env, "uniform", batch, 64, device="CUDA"))
        yield Row(f"{name}, {batch} games, rollout of 64", batch * 64 / rollout / 1e9, "G/s")


# *** learners ***


def policy_network(env: te.Env) -> Any:
    """Return a network of one hidden layer in PyTorch, for logits and a value."""
    nn = importlib.import_module("torch.nn")
    inputs = math.prod(env.observation_shape)
    return nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, env.num_actions + 1)).cuda()


def loops() -> Iterator[Row]:
    """Measure a step that a PyTorch policy drives, beside the policy alone."""
    torch = importlib.import_module("torch")
    for name, batch in (("connect_four", 4096), ("connect_four", 65536), ("go", 16384)):
        env = te.make(name)
        vector = te.VectorEnv(env, batch, device="CUDA", observe=True)
        network = policy_network(env)

        @torch.inference_mode()  # type: ignore[untyped-decorator]
        def choose(seen: dict[str, Any], network: Any = network) -> Any:
            logits = network(seen["observation"].flatten(1).float())[:, :-1]
            logits = logits.masked_fill(~seen["legal_action_mask"], -1e9)
            return (logits - torch.log(-torch.log(torch.rand_like(logits)))).argmax(1)

        seen = vector.torch()

        def step(vector: te.VectorEnv = vector, choose: Callable[..., Any] = choose) -> None:
            vector.step(choose(vector.torch()))

        policy, loop = (seconds * 1e6 for seconds in seconds_of(partial(choose, seen), step))
        aim = ("policy + 80 us", loop <= policy + 80) if batch == 4096 else ("", None)
        yield Row(f"{name}, {batch} games, policy in PyTorch", policy, "us")
        yield Row(f"{name}, {batch} games, policy and step", loop, "us", *aim)


# *** searches ***


def opened(name: str, batch: int) -> tuple[te.Env, te.State]:
    """Return games after two random plies."""
    env = te.make(name)
    state = env.init(batch, seed=1, device="CUDA")
    for _ in range(2):
        state = env.step(state, te.agents.uniform(state))
    return env, state


def residual_network(env: te.Env) -> Any:
    """Return a residual network in PyTorch, in half precision and channels last."""
    torch = importlib.import_module("torch")
    torch.manual_seed(1)  # how deep trees become depends on the weights
    nn = torch.nn
    planes, rows, columns = env.observation_shape

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        """Two convolutions beside a shortcut."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
            self.second = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.second(torch.relu(self.first(x))))

    head = nn.Linear(CHANNELS * rows * columns, env.num_actions + 1)
    layers = [nn.Conv2d(planes, CHANNELS, 3, padding=1), nn.ReLU(), *[Block() for _ in range(BLOCKS)], nn.Flatten()]
    return nn.Sequential(*layers, head).cuda().half().eval().to(memory_format=torch.channels_last)


def captured(network: Any, seen: Any) -> Callable[[], tuple[Any, Any]]:
    """Return a function that evaluates `seen` by a CUDA graph of PyTorch."""
    torch = importlib.import_module("torch")

    def forward() -> tuple[Any, Any]:
        out = network(seen.half().contiguous(memory_format=torch.channels_last)).float()
        return out[:, :-1].contiguous(), out[:, -1].tanh()

    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # warm-up, which a capture needs
            for _ in range(3):
                forward()
        torch.cuda.current_stream().wait_stream(side)
        with torch.cuda.graph(graph):
            result = forward()

    def replay() -> tuple[Any, Any]:
        graph.replay()
        return result

    return replay


def network_searches() -> Iterator[Row]:
    """Measure Gumbel searches by a residual network in PyTorch, beside the network alone."""
    for name, batch in (("connect_four", 1024), ("othello", 1024)):
        env, state = opened(name, batch)
        network, replays = residual_network(env), dict[int, Callable[[], tuple[Any, Any]]]()

        def evaluate(state: te.State, env: te.Env = env, network: Any = network, replays: Any = replays) -> Any:
            seen = env.observe(state)
            if id(seen) not in replays:  # the leaves of a search stand in the same memory in every call
                replays[id(seen)] = captured(network, te.to_torch(seen))
            return replays[id(seen)]()

        searching = partial(te.search.gumbel_muzero_policy, state, evaluate, 32)
        searching()  # which makes the network's graph
        search, alone = seconds_of(searching, next(iter(replays.values())))
        alone *= 33
        yield Row(f"{name}, {batch} games, network in PyTorch alone, 33 times", alone * 1e3, "ms")
        aim = ("at most 1.15 times the network", search <= 1.15 * alone)
        yield Row(f"{name}, {batch} games, Gumbel search of 32 by it", search * 1e3, "ms", *aim)


def searches() -> Iterator[Row]:
    """Measure searches with tinygrad's network and with playouts."""
    from tensor_envs.train.network import Network, evaluator

    for name, batch in (("connect_four", 1024), ("connect_four", 16384), ("othello", 4096), ("go", 4096)):
        env, state = opened(name, batch)
        network = evaluator(env, Network(env, hidden=64, device="CUDA", seed=1))
        took = dict[int, float]()
        for count in (32, 64):
            (took[count],) = seconds_of(partial(te.search.gumbel_muzero_policy, state, network, count))
        aim = ("less than 2.2 times that of 32", took[64] < 2.2 * took[32]) if name == "othello" else ("", None)
        yield Row(f"{name}, {batch} games, Gumbel search of 32, two layers of 64", took[32] * 1e3, "ms")
        yield Row(f"{name}, {batch} games, Gumbel search of 64, two layers of 64", took[64] * 1e3, "ms", *aim)
        (playouts,) = seconds_of(partial(te.search.playout_policy, state, 32))
        yield Row(f"{name}, {batch} games, playout search of 32", playouts * 1e3, "ms")


def peers() -> Iterator[Row]:
    """Measure Gumbel searches of 32 beside those of mctx on Pgx, by networks of the same size."""
    from benchmark.search import mctx_search
    from tensor_envs.train.network import Network, evaluator

    for name, batch, times in (("connect_four", 1024, 6), ("connect_four", 16384, 12)):
        env, state = opened(name, batch)
        network = evaluator(env, Network(env, hidden=64, device="CUDA", seed=1))
        searching = partial(te.search.gumbel_muzero_policy, state, network, 32)
        ours, theirs = seconds_of(searching, mctx_search(name, "gumbel", batch, 32, 64))
        yield Row(
            f"{name}, {batch} games, mctx's time / ours", theirs / ours, "", f"at least {times}", theirs >= times * ours
        )


# *** training ***


def random_positions(env: te.Env, device: str) -> te.State:
    """Return the same positions of random games on any device."""
    state = env.init(JUDGED, seed=2, device=device)
    for _ in range(JUDGED_PLY):
        state = env.step(state, te.agents.uniform(state))
    return state[np.flatnonzero(~te.to_numpy(state.terminated))]


def training(minutes: float, overlap: bool) -> Iterator[Row]:
    """Train a residual network in PyTorch by AlphaZero, and judge its moves by exact values."""
    env = te.make("connect_four")
    state = random_positions(env, "CPU")
    best = te.solve(env, method="search").best_actions(state)
    # in a critical position legal actions differ in value
    critical = np.flatnonzero((te.to_numpy(state.legal_action_mask) & ~best).any(1))
    positions, best = random_positions(env, "CUDA")[critical], best[critical]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tensor_envs.train", "alphazero", "connect_four", "--device", "CUDA"]
        command += ["--network", "resnet", "--blocks", str(BLOCKS), "--channels", str(CHANNELS), "--bfloat16"]
        # the run's own ratings would take a part of the minutes
        command += ["--num-envs", "4096", "--minibatch", "4096", "--ratings", "1", "--rating-games", "2"]
        command += ["--minutes", f"{minutes:g}", "--folder", folder, *["--overlap"] * overlap]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        steps = [json.loads(text) for text in (Path(folder) / "metrics.jsonl").read_text().splitlines()]
        yield Row("connect_four, minutes of training", minutes, "")
        yield Row("connect_four, positions played", steps[-1]["positions"] / 1e6, "million")
        for simulations in (0, 64, 256):
            actions = te.to_numpy(te.agents.load(folder, simulations)(positions))
            kept = best[np.arange(len(best)), actions].mean()
            yield Row(f"value kept in {len(best):,} critical positions, {simulations} simulations", kept, "")


# *** report ***

TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    "Learners": loops,
    "Searches by networks in PyTorch": network_searches,
    "Searches": searches,
    "Beside mctx": peers,
    "Steps": steps,
}


def line(row: Row) -> str:
    """Return a row of a table in Markdown."""
    reached = {None: "", True: "yes", False: "no"}[row.reached]
    return f"| {row.name} | {row.value:.4g} {row.unit} | {row.aim} | {reached} |"


def work(options: argparse.Namespace) -> None:
    name = card()
    if name is None:
        print("no card: nothing to check")
        return
    end = time.monotonic() + 60 * options.minutes
    rows: dict[str, list[Row]] = {}
    measures = {"Correctness": lambda: tests(60 * options.minutes * TEST_SHARE), **TABLES}
    if options.training:
        measures[TRAINING] = lambda: training(options.training, options.overlap)
    print(f"# {name}")
    for title, measure in measures.items():
        print(f"\n## {title}\n\n| | measured | aim | reached |\n|---|---|---|---|", flush=True)
        rows[title] = []
        if title == TRAINING:  # its minutes are its own
            end = math.inf
        if time.monotonic() > end:
            print("| not measured: the time is up | | | |")
            continue
        try:
            for row in measure():
                rows[title].append(row)
                print(line(row), flush=True)
                if time.monotonic() > end:
                    break
        except Exception as error:  # of any library; the other tables are worth having
            print(f"| {type(error).__name__}: {str(error)[:300]} | | | no |", flush=True)
            rows[title].append(Row(f"{type(error).__name__}: {error}"[:300], math.nan, "", "no error", False))
    if options.json:
        content = {"card": name, **{title: [row._asdict() for row in table] for title, table in rows.items()}}
        options.json.write_text(json.dumps(content, indent=1) + "\n")


def parser() -> argparse.ArgumentParser:
    result = command_parser("python scripts/gpu_check.py", __doc__)
    result.add_argument("--minutes", type=whole(1, 600), default=8, help="time in all (default: 8)")
    text = "minutes of training from nothing, beside --minutes (default: none; 6 is what others publish)"
    result.add_argument("--training", type=float, default=0, metavar="MINUTES", help=text)
    result.add_argument("--overlap", action="store_true", help="learn during the self-play of --training")
    result.add_argument("--json", type=Path, help="file to write the numbers to")
    return result


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    run(parser(), work, arguments)
