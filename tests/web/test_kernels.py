"""Kernels in WebAssembly give the CPU device's results bit for bit in a JavaScript runtime."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tinygrad import Tensor

import tensor_envs as te
from tensor_envs._engine.batch_layout import LANES
from tensor_envs._runtime.buffers import download
from tensor_envs.games.shed.solve import solve
from tensor_envs.search.policies import exploration_table
from tensor_envs.web.kernels import Kernels, of_player
from tensor_envs.web.site import write_game
from tensor_envs.web.variants import SIMULATIONS, variant
from tests.games.shared import shared_env

HERE, PAGE = Path(__file__).parent, Path(te.__file__).parent / "web" / "page"
NODE = shutil.which("node")
BATCH, SEED, STEPS = 1024, 2**63 + 7, 200
PLIES = 12
GAMES = 256  # of which the longest one has an end that takes little to search
MAX_BYTES = 50_000  # of a compressed file of kernels
MAX_BYTES_OF_LONG = 120_000
LONG = ("chess", "shogi", "xiangqi", "lines_of_action")  # games with the longest kernels
# games that differ in kind, whose step has nearly every operation on every dtype; gomoku's is clicked
PAGES = (
    "2048", "connect_four", "go", "hanabi", "kuhn_poker", "othello", "shed", "texas_holdem", "three_will", "tic_tac_toe"
)  # fmt: skip

pytestmark = [pytest.mark.cpu, pytest.mark.skipif(NODE is None, reason="WebAssembly is run by node, which is not here")]


def digest(env: te.Env, steps: int = STEPS, rollout: int = 16) -> str:
    """Return the digest of the calls of `digest.js`, or without a rollout of `webgpu.js`, on the CPU device."""
    chain = hashlib.sha256()

    def add_actions(actions: Tensor) -> None:
        chain.update(np.ascontiguousarray(download(actions)).tobytes())

    def add_words(words: Tensor) -> None:
        """Add words in the blocks of 64 games that a page has; some games have narrower ones on the CPU device."""
        table = first.buffers.layout.download(words)
        chain.update(np.ascontiguousarray(table.reshape(-1, LANES, table.shape[1]).transpose(0, 2, 1)).tobytes())

    first = state = env.init(BATCH, SEED, "CPU")
    vector = te.VectorEnv(env, BATCH, SEED, device="CPU")
    add_words(first.tensors[1])
    add_words(first.tensors[0])
    for _ in range(steps):
        add_actions(vector.step_uniform().actions)
        add_words(vector.buffers.words)  # with the flags of the step
    if rollout:
        add_words(te.rollout_from(first, "uniform", rollout).state.tensors[0])
    for _ in range(8):
        actions = te.agents.uniform(state)
        state = env.step(state, actions)
        add_actions(actions)
        add_words(state.tensors[0])
    return chain.hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.page] * (x in PAGES)) for x in te.registered()])
def test_every_step_is_the_cpu_devices(name: str, site: Callable[..., Path]) -> None:
    folder = site(name, player=False)
    held_small(name, folder / "games" / f"{name}.wasm.gz")
    assert run_script(folder, "digest.js", "digest", name) == f"{name} {digest(shared_env(name))}\n"


def held_small(name: str, path: Path) -> None:
    assert path.stat().st_size <= (MAX_BYTES_OF_LONG if name in LONG else MAX_BYTES)


def policies(env: te.Env) -> dict[str, te.agents.Policy]:
    """Return the package's policies for the players of a page."""
    return {f"playout:{count}": te.agents.playout_search(count) for count in (16, SIMULATIONS)}


@pytest.mark.slow
def test_a_module_has_the_exploration_of_its_build() -> None:
    env = shared_env("tic_tac_toe")
    params = of_player(env, 0.5).metadata["initial"]["params"]
    table = exploration_table(0.5, SIMULATIONS + 1, env.num_actions)
    assert params[-len(table) // 4 :] == np.frombuffer(table, np.int32).tolist()


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", te.registered())
def test_the_computer_plays_as_the_packages_players(name: str, site: Callable[..., Path]) -> None:
    env = shared_env(name)
    held_small(name, site(name) / "games" / f"{name}.player.wasm.gz")
    for kind, policy in policies(env).items():
        state, actions = env.init(1, SEED, "CPU"), list[int]()
        while len(actions) < PLIES and not state.terminated.item():
            actions.append(int(download(policy(state))[0]))
            state = env.step(state, actions[-1:])
        assert json.loads(run_script(site(name), "choices.js", kind, name, PLIES)) == actions, kind


@pytest.mark.slow
def test_the_highest_level_gives_nothing_away_in_tic_tac_toe(site: Callable[..., Path]) -> None:
    env = shared_env("tic_tac_toe")
    state = env.init(1, SEED, "CPU")
    for action in json.loads(run_script(site(env.id), "choices.js", f"playout:{SIMULATIONS}", env.id, 9)):
        assert te.agents.solution_of(env).best_actions(state)[0, action]
        state = env.step(state, [action])
    assert state.terminated.item() and not state.rewards.numpy().any()  # a draw


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shed_5", "shed_10", "shed_14"])
def test_perfect_play_by_a_table_gives_nothing_away(name: str, site: Callable[..., Path]) -> None:
    """Perfect play makes no mistakes in the positions of a random game, which contains many."""
    env = variant(name)[1]
    held_small(name, site(name) / "games" / f"{name}.table.wasm.gz")
    table = solve(env.rules.cards, "CPU", progress=False)
    state, actions, best = env.init(1, SEED, "CPU"), list[int](), list[np.ndarray]()
    while len(actions) < 40 and not state.terminated.item():
        best.append(table.best_actions(state).numpy()[0])
        actions.append(int(te.agents.uniform(state).item()))
        state = env.step(state, actions[-1:])
    chosen = json.loads(run_script(site(name), "choices.js", "perfect", name, len(actions), *actions))
    assert all(is_best[action] for is_best, action in zip(best, chosen, strict=True))
    assert len(chosen) > 8 and not all(is_best[action] for is_best, action in zip(best, actions, strict=True))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that builds a game's page once; `player` adds the kernels of its players."""

    @functools.cache
    def built(name: str, player: bool = True) -> Path:
        folder = tmp_path_factory.mktemp("web")
        (folder / "games").mkdir()
        with pytest.MonkeyPatch.context() as patch:
            if not player:
                patch.setitem(write_game.__globals__, "of_player", lambda env, exploration: Kernels(b"", {}))
            write_game(name, *variant(name), folder / "games" / name)
        (folder / "package.json").write_text('{"type": "module"}')
        for path in (*PAGE.glob("*.js"), *HERE.glob("*.js")):
            (folder / path.name).write_bytes(path.read_bytes())
        return folder

    return built


def run_script(folder: Path, script: str, *arguments: object) -> str:
    """Return the output of a script that Node.js runs in a page's folder."""
    command = [str(NODE), script, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
