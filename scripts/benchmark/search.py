"""Measure simulations per second of tree search, and of mctx on Pgx in the same run.

    python scripts/benchmark.py --search
    python scripts/benchmark.py --search --peers --env tic_tac_toe connect_four --batch 64 1024 --simulations 32 128
    python scripts/benchmark.py --search --peers --env connect_four --evaluation torch numpy jax --batch 256
    python scripts/benchmark.py --search --peers gumbel --env chess lines_of_action go --simulations 32
    python scripts/benchmark.py --search --evaluation none --env chess othello --batch 64 --simulations 32 128
    DEV=CUDA python scripts/benchmark.py --search --peers --batch 4096

"playout" is `te.search.playout_policy`; beside it mctx's Gumbel search values leaves by random rollouts. "gumbel" is
`te.search.gumbel_muzero_policy` with the package's network of two hidden layers. "torch", "jax" and "numpy" are the
same search with networks in those libraries, whose values have a tanh; mctx's is in JAX. All have the same weights.
"none" has three rows whose times are those of the trees: playout search with playouts of one action, and the searches
"gumbel" and "muzero" with the same logits and values for every position.

One process on one core runs all searches in turns. The table has processor times of the fastest round, since other
programs only add to them, and medians of the rounds' ratios. A time that has an upper bound is followed by it.
Where tinygrad's default device is CUDA, JAX uses it too; on a GPU times are wall times. The first search is timed in a
separate process with all cores and an empty cache of kernels.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import itertools
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tensor_envs as te
from benchmark.main import GAMES, NAMES
from tensor_envs._command import Failure, busy, command_parser, device_of, real, run, whole
from tensor_envs._runtime.devices import is_cpu, primary
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import need
from tensor_envs.search.outputs import Evaluate
from tensor_envs.train.network import Network, evaluator

LIBRARIES = ("torch", "jax", "numpy")
EVALUATIONS = ("playout", "gumbel", *LIBRARIES, "none")
NULL_SEARCHES = ("none, playout", "none, gumbel", "none, muzero")  # the rows of "none"
MAX_MICROSECONDS = {("chess", "none, muzero"): 6.0}  # upper bounds of the time of a simulation
OPENING = 2  # random plies before the searched positions
Search = Callable[[], object]
Job = tuple[str, str, int, int, int]  # game, evaluation, batch, simulations, units of a hidden layer


def own_search(name: str, evaluation: str, batch: int, simulations: int, hidden: int) -> Search:
    env = te.make(name)
    state = env.init(batch, seed=1)
    for _ in range(OPENING):
        state = env.step(state, te.agents.uniform(state))
    if evaluation == "playout":
        return lambda: te.to_numpy(te.search.playout_policy(state, simulations).action)
    if evaluation == "none, playout":
        return lambda: te.to_numpy(te.search.playout_policy(state, simulations, limit=1).action)
    if evaluation == "none, gumbel":
        return lambda: te.to_numpy(te.search.gumbel_muzero_policy(state, no_network, simulations).action)
    if evaluation == "none, muzero":
        return lambda: te.to_numpy(te.search.muzero_policy(state, no_network, simulations).action)
    network = host_network(evaluation, env, hidden) if evaluation in LIBRARIES else own_network(env, hidden)
    return lambda: te.to_numpy(te.search.gumbel_muzero_policy(state, network, simulations).action)


@functools.cache
def fixed_output(batch: int, actions: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(batch, actions)).astype(np.float32), random.normal(0, 0.1, batch).astype(np.float32)


def no_network(state: te.State) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and values that do not depend on the positions."""
    return fixed_output(state.batch, state.env.num_actions)


def weights_of(observation: Sequence[int], actions: int, hidden: int) -> list[np.ndarray]:
    """Return the weights [inputs, outputs] of three layers, the same in every library; biases are 0.

    The depth of the trees, and so the time of a search, depends on them.
    """
    random, sizes = np.random.default_rng(0), (math.prod(observation), hidden, hidden, actions + 1)
    shapes = itertools.pairwise(sizes)
    return [(random.normal(size=shape) * (2 / shape[0]) ** 0.5).astype(np.float32) for shape in shapes]


def own_network(env: te.Env, hidden: int) -> Evaluate:
    """Return the package's network."""
    first, second, heads = weights_of(env.observation_shape, env.num_actions, hidden)
    parts = {"first": first, "second": second, "policy": heads[:, :-1], "value": heads[:, -1:]}
    weights = {f"{name}.weight": part.T for name, part in parts.items()}
    biases = {f"{name}.bias": np.zeros(part.shape[1], np.float32) for name, part in parts.items()}
    return evaluator(env, Network(env, weights=weights | biases))


def host_network(library: str, env: te.Env, hidden: int) -> Evaluate:
    """Return a network in PyTorch, JAX or NumPy, each as its users write it."""
    actions = env.num_actions
    weights = weights_of(env.observation_shape, actions, hidden)
    if library == "torch":
        torch = module_of("torch")
        torch.set_num_threads(1)
        first, second, third = map(torch.from_numpy, weights)

        @torch.inference_mode()  # type: ignore[untyped-decorator]
        def by_torch(state: te.State) -> tuple[Any, Any]:
            x = te.to_torch(env.observe(state)).flatten(1).float()
            out = ((x @ first).relu_() @ second).relu_() @ third
            return out[:, :actions], out[:, actions].tanh()

        return by_torch
    if library == "jax":
        jax, jnp = module_of("jax"), module_of("jax.numpy")
        parts = [jnp.array(part) for part in weights]

        @jax.jit  # type: ignore[untyped-decorator]
        def forward(x: Any) -> tuple[Any, Any]:
            x = x.reshape(len(x), -1).astype(jnp.float32)
            out = jax.nn.relu(jax.nn.relu(x @ parts[0]) @ parts[1]) @ parts[2]
            return out[:, :actions], jnp.tanh(out[:, actions])

        return lambda state: forward(te.to_numpy(env.observe(state)))

    def by_numpy(state: te.State) -> tuple[np.ndarray, np.ndarray]:
        x = te.to_numpy(env.observe(state)).reshape(state.batch, -1).astype(np.float32)
        for part in weights[:-1]:
            x = x @ part
            np.maximum(x, 0, out=x)
        out = x @ weights[-1]
        return out[:, :actions], np.tanh(out[:, actions])

    return by_numpy


def module_of(name: str) -> Any:
    return importlib.import_module(name)


def mctx_search(name: str, evaluation: str, batch: int, simulations: int, hidden: int) -> Search:
    modules = ("jax", "jax.numpy", "mctx", "pgx")
    jax, jnp, mctx, pgx = (module_of(name) for name in modules)

    env: Any = pgx.make(NAMES.get(("pgx", name), name))
    keys, step = jax.random.split(jax.random.PRNGKey(0), batch), jax.jit(jax.vmap(env.step))
    state, random = jax.jit(jax.vmap(env.init))(keys), np.random.default_rng(0)
    for _ in range(OPENING):
        masks = np.asarray(state.legal_action_mask)
        state = step(state, np.array([random.choice(np.flatnonzero(row)) for row in masks]))
    weights = [jnp.array(part) for part in weights_of(env.observation_shape, env.num_actions, hidden)]

    def evaluate(state: Any, key: Any) -> tuple[Any, Any]:
        if evaluation != "playout":
            x = jnp.moveaxis(state.observation, -1, 1)  # planes first, as in this package
            x = x.reshape(batch, -1).astype(jnp.float32)
            out = jax.nn.relu(jax.nn.relu(x @ weights[0]) @ weights[1]) @ weights[2]
            return out[:, :-1], jnp.tanh(out[:, -1]) if evaluation in LIBRARIES else out[:, -1]
        mover = state.current_player

        def play(carry: Any) -> Any:
            state, key, returns = carry
            key, draw = jax.random.split(key)
            logits = jnp.where(state.legal_action_mask, 0.0, -1e9)
            state = jax.vmap(env.step)(state, jax.random.categorical(draw, logits, axis=-1))
            return state, key, returns + state.rewards

        def goes_on(carry: Any) -> Any:
            return ~(carry[0].terminated | carry[0].truncated).all()

        _, _, returns = jax.lax.while_loop(goes_on, play, (state, key, jnp.zeros_like(state.rewards)))
        return jnp.zeros((batch, env.num_actions)), returns[jnp.arange(batch), mover]

    def recurrent(_: Any, key: Any, action: Any, state: Any) -> Any:
        mover = state.current_player
        state = jax.vmap(env.step)(state, action)
        logits, value = evaluate(state, key)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(jnp.float32).min)
        output = mctx.RecurrentFnOutput(
            reward=state.rewards[jnp.arange(batch), mover],
            discount=jnp.where(state.terminated, 0.0, -1.0),
            prior_logits=logits,
            value=jnp.where(state.terminated, 0.0, value),
        )
        return output, state

    def search(state: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        logits, value = evaluate(state, first)
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=state)
        return mctx.gumbel_muzero_policy(
            None, second, root, recurrent, simulations, invalid_actions=~state.legal_action_mask
        ).action

    key, jitted = jax.random.PRNGKey(0), jax.jit(search)
    return lambda: np.asarray(jitted(state, key))


def seconds(search: Search, least: float) -> float:
    """Return the time of a search, averaged over at least `least` seconds."""
    clock = time.process_time if is_cpu(primary(open_device(None))) else time.perf_counter
    count, begin = 0, clock()
    while count == 0 or clock() - begin < least:
        search()
        count += 1
    return (clock() - begin) / count


def first_search(job: Job, cores: set[int]) -> float:
    """Return the seconds of the first search of a process, including compilation."""
    code = f"from benchmark.search import timed_first; timed_first({job}, {cores})"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CACHEDB": str(Path(folder, "kernels.db")), "TENSOR_ENVS_CACHE": folder}
        environment["PYTHONPATH"] = os.pathsep.join(sys.path)
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise Failure(f"a first search of {job[0]} failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def timed_first(job: Job, cores: set[int]) -> None:
    if cores:
        os.sched_setaffinity(0, cores)
    search, begin = own_search(*job), time.perf_counter()
    search()
    print(time.perf_counter() - begin)


def compare(options: argparse.Namespace) -> None:
    cores = set[int]()
    if hasattr(os, "sched_setaffinity"):
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
    os.environ |= {
        "JAX_PLATFORMS": "cuda" if primary(open_device(None)).startswith("CUDA") else "cpu",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    os.environ["TENSOR_ENVS_THREADS"] = "1"
    for library, extra in (("torch", "torch"), ("jax", "peers")):
        if library in options.evaluation:
            need(library, f"--evaluation {library}", extra)
    compared = options.evaluation if options.peers == [] else options.peers or []
    if "none" in compared:
        raise ValueError("--evaluation none is measured without --peers")
    if compared:
        for package in ("jax", "mctx", "pgx"):
            need(package, "--peers", "peers")
    for name in options.env:
        te.make(name)  # raises ValueError for an unknown game before anything is measured
    print(f"on {device_of()}\n")
    columns = "| game | evaluation | simulations | batch | simulations/s | microseconds each | first search, s |"
    columns += " mctx + Pgx | ratio |" * bool(compared)
    print(columns)
    print("|---" * (columns.count("|") - 1) + "|")
    evaluations = [x for name in options.evaluation for x in (NULL_SEARCHES if name == "none" else [name])]
    for name in options.env:
        for evaluation in evaluations:
            for simulations in options.simulations:
                for batch in options.batch:
                    job = (name, evaluation, batch, simulations, options.hidden)
                    with busy(f"{name}, {evaluation}, {simulations} simulations in {batch} games"):
                        with_peer = evaluation in compared and name in GAMES
                        row = measured(job, options, first_search(job, cores), with_peer)
                        row += ["-"] * (columns.count("|") - 1 - len(row))
                    print("| " + " | ".join(row) + " |", flush=True)


def measured(job: Job, options: argparse.Namespace, first: float, with_peer: bool) -> list[str]:
    name, evaluation, batch, simulations, _ = job
    mine = own_search(*job)
    for _ in range(3):  # the second call captures, the third one replays
        mine()
    peer = mctx_search(*job) if with_peer else None
    if peer is not None:
        try:
            peer()
        except Exception as error:
            raise Failure(f"mctx cannot search {name}: {error}") from None
    rounds = []
    for _ in range(options.runs):
        own = seconds(mine, options.seconds)
        rounds.append((own, seconds(peer, options.seconds) if peer else own))
    work = batch * simulations
    own_time = min(own for own, _ in rounds)
    microseconds = f"{own_time / work * 1e6:.3f}"
    bound = MAX_MICROSECONDS.get((name, evaluation))
    if bound is not None:
        microseconds += f" (at most {bound:g})"
    row = [name, evaluation, f"{simulations}", f"{batch:,}", f"{work / own_time:,.0f}", microseconds, f"{first:.2f}"]
    if peer is not None:
        peer_time = min(other for _, other in rounds)
        row += [f"{work / peer_time:,.0f}", f"{median(b / a for a, b in rounds):.1f}x"]
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    count = whole(1, 2**20)
    parser = command_parser("python scripts/benchmark.py", __doc__)
    parser.add_argument("--search", action="store_true", required=True, help="tree search, not steps")
    parser.add_argument(
        "--env", nargs="+", default=["tic_tac_toe", "connect_four"], help="default: tic_tac_toe and connect_four"
    )
    own = EVALUATIONS[:2]
    text = f"of {', '.join(EVALUATIONS)}; default: {' and '.join(own)}"
    parser.add_argument("--evaluation", nargs="+", choices=EVALUATIONS, default=own, metavar="NAME", help=text)
    parser.add_argument("--simulations", nargs="+", type=count, default=[32, 128])
    parser.add_argument("--batch", nargs="+", type=count, default=[64, 1024])
    parser.add_argument("--hidden", type=count, default=64, help="units of each hidden layer; default: %(default)s")
    parser.add_argument("--runs", type=count, default=3, help="rounds; default: %(default)s")
    parser.add_argument("--seconds", type=real(0, 3600, False), default=0.3, help="minimum duration of a run (0.3)")
    text = "also measure mctx on Pgx, for all evaluations or those named here; needs the extra 'peers'"
    parser.add_argument("--peers", nargs="*", choices=EVALUATIONS, metavar="NAME", help=text)
    run(parser, compare, arguments)
