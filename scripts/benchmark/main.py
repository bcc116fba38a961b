"""Measure steps per second of the environments, and of their peers on the same core in the same run.

    python scripts/benchmark.py --env tic_tac_toe --batch 4096 65536 --peers
    python scripts/benchmark.py --env gomoku tic_tac_toe --mode step rollout --limits
    python scripts/benchmark.py --env gomoku qubic tic_tac_toe --json figures.json --plot plots
    python scripts/benchmark.py --mode read --readers numpy torch jax gymnasium sb3 torchrl
    python scripts/benchmark.py --device CPU CL WEBGPU --env all --batch 4096 --mode step rollout
    python scripts/benchmark.py --env peers --batch 4096 --mode step read --peers --json run.json

Other measurements have options of their own, which `--help` after them lists: --search (simulations of tree search),
--strength (matches with OpenSpiel's), --equilibrium (iterations of CFR+), --network, --training (positions of
self-play) and --settings (of AlphaZero).

Games are played by uniformly random legal actions, sampled on the device, with auto-reset. Modes: "step" is
`VectorEnv.step_uniform`, one call per step that computes mask, rewards and flags; "read" adds `observe=True`, so that
the step also outputs observation and legal_action_mask; "policy" is `te.agents.uniform` and `VectorEnv.step` as two
calls; "rollout" is a whole `te.rollout`, including first states.

`--readers` also reads every step from another library. Their table shows how many times as long as a step with
`observe=True` (mode "read") a step takes that is read by `VectorEnv.numpy`, `torch` or `jax`, by `te.to_torch` of
observation and mask, or in the vectorised environment of an adapter, whose step includes the other players' plies.

Every player has a separate process on the same core. Without a pinned core they compile side by side, in more seconds.
The processes take turns run by run, so that other load affects all of them alike; ratios are medians of each round's
ratio. Seconds are processor time on a pinned CPU core, else wall time. Statistics of the games are checked before any
number is printed: exit code 1 if they are wrong. A missing device or peer, or a game that cannot be played, is a row
with the reason.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmark.c_baseline import LIMITS
from benchmark.readers import READERS
from benchmark.report import machine, markdown, plot
from benchmark.runner import MIN_EPISODES
from tensor_envs._command import Failure, busy, command_parser, new_file, real, run, whole
from tensor_envs.compare.engines import ENVPOOL_NAMES

MODES = ("step", "read", "policy", "rollout")
GAMES = (
    "tic_tac_toe", "connect_four", "othello", "hex", "go", "backgammon", "2048", "leduc_poker", "kuhn_poker",
    "chess",
)  # fmt: skip
SPIEL_ONLY = (  # games that Pgx has not, and shogi, which it compiles for longer than nine minutes
    "checkers", "dots_and_boxes", "amazons", "nine_mens_morris", "quoridor", "phantom_tic_tac_toe", "dark_hex",
    "liars_dice", "ultimate_tic_tac_toe", "kalah", "oware", "breakthrough", "lines_of_action",
    "hanabi", "clobber", "y", "havannah", "texas_holdem", "shogi", "xiangqi",
    "gin_rummy", "chinese_checkers",
)  # fmt: skip
PGX_ONLY = ("gardner_chess", "animal_shogi")  # which OpenSpiel has not
# by peer: required module, modes, games
PEERS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "pgx": ("pgx", ("step", "rollout"), (*GAMES, *PGX_ONLY)),
    "envpool": ("envpool", ("step",), GAMES),
    "open_spiel": ("pyspiel", ("step", "rollout"), (*GAMES, *SPIEL_ONLY)),
    "numpy_bitboards": ("numpy", ("step",), GAMES[:1]),
    "numpy_table": ("numpy", ("step",), GAMES[:1]),
}
OBSERVING = ("pgx", "envpool")  # peers whose steps output observations and masks
# two players with 200 small blinds each, all in or a raise by the pot or half of it, as in `texas_holdem`
TEXAS_HOLDEM = (
    "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=2 1,firstPlayer=2 1 1 1,numSuits=4,numRanks=13,"
    "numHoleCards=2,numBoardCards=0 3 1 1,stack=200 200,bettingAbstraction=fchpa)"
)
# names of games that differ in a peer
NAMES = {
    ("pgx", "leduc_poker"): "leduc_holdem",
    ("pgx", "go"): "go_9x9",
    ("open_spiel", "kalah"): "mancala",
    ("open_spiel", "hex"): "hex(board_size=11)",
    ("open_spiel", "dots_and_boxes"): "dots_and_boxes(num_rows=5,num_cols=5)",
    ("open_spiel", "phantom_tic_tac_toe"): "phantom_ttt",
    ("open_spiel", "go"): "go(board_size=9)",
    ("open_spiel", "texas_holdem"): TEXAS_HOLDEM,
    **{("envpool", game): name for game, name in ENVPOOL_NAMES.items()},
    ("envpool", "backgammon"): "Backgammon-v1",
    ("envpool", "2048"): "Play2048-v1",
    ("envpool", "kuhn_poker"): "KuhnPoker-v1",
    ("envpool", "leduc_poker"): "LeducHoldem-v1",
}
# otherwise XLA folds constants of this game for a quarter of an hour (JAX 0.10)
XLA_FLAGS = {"chess": "--xla_disable_hlo_passes=constant_folding"}
EPISODES = 256  # of statistics without exact values to compare with
SIGMAS = 5  # allowed deviation in sampling errors; chance exceeds it once in two million runs

# (value, standard error) under uniformly random play: for 3x3 exact, from all games; for the others from 400,000 random
# orders of the cells, in each of which the first complete line of one player decides.
FACTS: dict[str, dict[str, tuple[float, float]]] = {
    "tic_tac_toe": {"first_wins": (737 / 1260, 0), "draws": (8 / 63, 0), "mean_length": (3203 / 420, 0)},
    "qubic": {"first_wins": (0.52739, 0.0008), "draws": (0.00004, 0.00001), "mean_length": (35.464, 0.014)},
    "gomoku": {"first_wins": (0.51011, 0.0008), "draws": (0, 0.00001), "mean_length": (109.10, 0.04)},
}


class WrongStatistics(Failure):
    """Failure because the statistics of the games are wrong."""

    def __init__(self, reason: str):
        super().__init__(f"wrong statistics, so no number is printed: {reason}")


class Worker:
    """Process that plays, and the rates of its runs."""

    def __init__(self, job: dict[str, Any], folder: str):
        self.job, self.rates, self.answer = job, list[float](), dict[str, Any]()
        if "error" in job:  # no process
            self.answer = {"error": job["error"]}
            return
        name = "-".join(str(job[key]) for key in ("system", "env", "batch", "device", "mode"))
        # empty caches, so that compile seconds are those of a fresh machine
        environment = os.environ | {"CACHEDB": str(Path(folder, f"{name}.db"))}
        environment["TENSOR_ENVS_CACHE"] = str(Path(folder, name))
        environment |= {"TENSOR_ENVS_THREADS": str(job["threads"])}
        flags = XLA_FLAGS.get(job["env"], "")
        on_card = job["device"].startswith("CUDA")
        environment |= {"JAX_PLATFORMS": "cuda" if on_card else "cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        if job["core"] is not None and not on_card:
            flags += " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
            environment |= threads
        if flags:
            environment["XLA_FLAGS"] = flags
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), json.dumps(job)]
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (stays open as long as the process runs)
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )

    def wait(self) -> None:
        """Wait until it has compiled and checked its games."""
        if not self.answer:
            with busy(f"{self.job['system']}, {self.job['mode']}: compiling, checking its games"):
                self.answer = self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self.errors.seek(0)
        last = (self.errors.read().strip() or "it printed nothing").split("\n")[-1]
        return {"error": f"the process ended: {last}"}

    def run(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        self.answer |= self._read()
        if "error" not in self.answer:
            self.rates.append(self.answer["steps_per_second"])

    def close(self) -> None:
        if "error" in self.job:
            return
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if not self.answer:  # it still compiles
            self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.errors.close()

    def row(self) -> dict[str, Any]:
        """Return a row of the table."""
        keep = ("system", "env", "batch", "device", "threads", "mode", "rollout_steps")
        row = {key: self.job[key] for key in keep}
        if "error" in self.answer:
            return row | {"error": self.answer["error"]}
        rate = median(self.rates)
        optional = ("kernels_per_step", "bytes_per_step", "state_bytes_per_game", "configuration")
        return row | {
            "steps_per_second": rate,
            "slowest": min(self.rates),
            "fastest": max(self.rates),
            "games_per_second": rate / self.answer["statistics"]["mean_length"],
            "compile_seconds": self.answer["compile_seconds"],
            "peak_mib": self.answer["peak_kib"] / 1024,
            "statistics": self.answer["statistics"],
            **{key: self.answer.get(key) for key in optional},
        }


def check_statistics(env: str, statistics: dict[str, float]) -> None:
    """Raise WrongStatistics unless all games ended and the statistics agree with `FACTS` within sampling error."""
    games = statistics["games"]
    if statistics["unfinished"]:
        raise WrongStatistics(f"{statistics['unfinished']} of {games} games of {env!r} never ended")
    for name, (true, error) in FACTS.get(env, {}).items():
        variance = statistics["length_deviation"] ** 2 if name == "mean_length" else true * (1 - true)
        allowed = SIGMAS * (variance / games + error**2) ** 0.5
        if abs(statistics[name] - true) > allowed:
            raise WrongStatistics(
                f"{env!r}: {name} is {statistics[name]:.4f} in {games} games, not {true:.4f} +- {allowed:.4f}"
            )


def jobs(options: argparse.Namespace, env: str, batch: int, device: str) -> list[dict[str, Any]]:
    """Return the jobs of a game at one batch size on one device: this package in its modes, C, and peers."""
    systems, kind = [("tensor_envs", mode) for mode in options.mode], device.split(":")[0]
    cpu = kind == "CPU"
    missing = dict[str, dict[str, str]]()
    if options.limits and cpu:
        systems += [("c", mode) for mode in LIMITS.get(env, ()) if mode in options.mode]
    for peer, (module, modes, games) in PEERS.items() if options.peers else ():
        if env in games and (cpu or (kind, peer) == ("CUDA", "pgx")):
            if importlib.util.find_spec(module) is None:
                missing[peer] = {"error": f"{module} is not installed"}
            systems += [(peer, mode) for mode in modes if mode in options.mode]
    for name in options.readers if cpu else ():
        if importlib.util.find_spec(READERS[name]) is None:
            missing[name] = {"error": f"{READERS[name]} is not installed"}
        systems.append((name, "read"))
    shared = {"env": env, "batch": batch, "device": device, "core": options.core, "threads": options.threads}
    shared |= {
        "rollout_steps": options.steps,
        "seconds": options.seconds,
        "episodes": MIN_EPISODES if env in FACTS else EPISODES,
    }
    return [
        {"system": system, "mode": mode, "game": NAMES.get((system, env), env)} | shared | missing.get(system, {})
        for system, mode in systems
    ]


def measure(options: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run all jobs and return the rows of the table, and ratios of this package to each peer."""
    rows, ratios, missing = [], [], dict[str, str]()

    def ready(worker: Worker) -> None:
        """Wait for a worker, and check its games."""
        worker.wait()
        check_answer(worker)
        if worker.answer.get("missing"):
            missing[worker.job["device"]] = worker.answer["error"]

    settings = [(e, b, d) for e in options.env for b in options.batch for d in options.device]
    for n, (env, batch, device) in enumerate(settings, 1):
        print(f"[{n}/{len(settings)}] {env}, batch {batch}, {device} ...", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            workers: list[Worker] = []
            try:
                for job in jobs(options, env, batch, device):
                    if job["system"] == "tensor_envs" and device in missing:
                        job["error"] = missing[device]
                    workers.append(Worker(job, folder))
                    if options.core is not None:  # otherwise they compile side by side
                        ready(workers[-1])
                for worker in workers:
                    ready(worker)
                for _ in range(options.runs):
                    for worker in workers:
                        if "error" not in worker.answer:
                            worker.run()
            finally:
                for worker in workers:
                    worker.close()
        rows += [worker.row() for worker in workers]
        ratios += compare(workers)
    own_rows = [row for row in rows if row["system"] == "tensor_envs"]
    if all("error" in row for row in own_rows):
        raise ValueError(f"{own_rows[0]['env']}: {own_rows[0]['error']}")
    return rows, ratios


def check_answer(worker: Worker) -> None:
    """Raise WrongStatistics for wrong games; other errors stay in the worker's row."""
    answer, env = worker.answer, worker.job["env"]
    if "error" not in answer:
        check_statistics(env, answer["statistics"])
    elif worker.job["system"] == "tensor_envs" and answer["error"].startswith("RuntimeError: statistics"):
        raise WrongStatistics(answer["error"].partition(": ")[2])


def compare(workers: list[Worker]) -> list[dict[str, Any]]:
    """Return ratios to each peer by mode. A "step" that outputs observations is also compared with "read"."""
    ratios = []
    for own in workers:
        for other in workers:
            mode, peer = own.job["mode"], other.job["system"]
            same = mode == other.job["mode"] or (peer in OBSERVING and (mode, other.job["mode"]) == ("read", "step"))
            if own.job["system"] != "tensor_envs" or peer == "tensor_envs" or not same:
                continue
            each = [a / b for a, b in zip(own.rates, other.rates, strict=False)]
            if each:
                setting = {key: own.job[key] for key in ("env", "batch", "device", "mode")}
                low_high = {"lowest": min(each), "highest": max(each)}
                ratios.append(setting | {"peer": peer, "ratio": median(each), **low_high})
    return ratios


def make_parser() -> argparse.ArgumentParser:
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument(
        "--env",
        nargs="+",
        default=["tic_tac_toe"],
        metavar="ID",
        help="or package.module:Class; all: every registered game; peers: every game that a peer has",
    )
    parser.add_argument("--batch", nargs="+", type=whole(1), default=[4096, 65536], metavar="B")
    parser.add_argument("--device", nargs="+", default=["CPU"], help="tinygrad devices")
    text = f"of {', '.join(MODES)}, which is the default"
    parser.add_argument("--mode", nargs="+", choices=MODES, default=list(MODES), metavar="MODE", help=text)
    parser.add_argument("--steps", type=whole(1), default=256, help="steps of a rollout (256)")
    parser.add_argument("--runs", type=whole(1), default=5, help="timed runs; the table has their median (5)")
    parser.add_argument("--seconds", type=real(0, 3600, False), default=0.5, help="approximate duration of a run (0.5)")
    parser.add_argument(
        "--threads", type=whole(1), default=1, help="threads of this package; more than 1 pins no process"
    )
    parser.add_argument("--core", type=int, help="core of all processes (default: the last); -1: do not pin")
    parser.add_argument("--peers", action="store_true", help="also measure the peers")
    parser.add_argument(
        "--readers",
        nargs="+",
        choices=READERS,
        default=[],
        metavar="LIBRARY",
        help=f"also read steps from other libraries: {', '.join(READERS)}",
    )
    parser.add_argument("--limits", action="store_true", help="also measure hand-written C that plays the same games")
    parser.add_argument("--json", type=new_file, metavar="FILE")
    parser.add_argument("--markdown", type=new_file, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="SVGs of throughput against batch size")
    return parser


def check_options(options: argparse.Namespace) -> None:
    """Check the options before anything is measured, and choose the core."""
    import tensor_envs

    if options.env == ["all"]:
        options.env = tensor_envs.registered()
    if options.env == ["peers"]:
        options.env = list(dict.fromkeys(game for _, _, games in PEERS.values() for game in games))
    for name in options.env:
        tensor_envs.make(name)
    # not every system can pin a process
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if options.core is None and options.threads == 1:
        options.core = cores[-1] if cores else None
    elif options.core in (None, -1):
        options.core = None
    elif options.core not in cores:
        raise ValueError(f"--core must be one of {', '.join(map(str, cores))}, or -1, got {options.core}")
    if options.readers and "read" not in options.mode:
        raise ValueError("--readers are compared with mode read, and --mode has no read")
    if options.limits and not LIMITS.keys() & set(options.env):
        raise ValueError(f"--limits has C for {', '.join(LIMITS)}, and --env is {', '.join(options.env)}")
    if options.plot and options.plot.exists() and not options.plot.is_dir():
        raise ValueError(f"--plot must be a folder, and {str(options.plot)!r} is a file")


def work(options: argparse.Namespace) -> None:
    check_options(options)
    rows, ratios = measure(options)
    metadata = machine(options)
    text = markdown(metadata, rows, ratios)
    print(text)
    if options.markdown:
        options.markdown.write_text(text)
    if options.json:
        options.json.write_text(json.dumps({**metadata, "results": rows, "ratios": ratios}, indent=1))
    if options.plot:
        plot(options.plot, metadata, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = make_parser()
    parser.set_defaults(arguments=sys.argv[1:] if arguments is None else list(arguments))
    run(parser, work, arguments)
