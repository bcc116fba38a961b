"""Learners that torchrun starts: shared gradients, one run, and errors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.train import parallel
from tensor_envs.train.__main__ import main
from tests.games.shared import shared_env
from tests.scripts.here import run_here

pytestmark = pytest.mark.extra("torch")
torch = pytest.importorskip("torch")
from tensor_envs.train.modules import Dense  # noqa: E402
from tests.train.learners import SETTINGS  # noqa: E402

ROOT = Path(__file__).parents[2]


def torchrun(*arguments: str) -> None:
    """Run a program in two processes that are connected."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    here = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, env=here, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr[-2000:]


def arrays_of(folder: Path, steps: int) -> list[dict[str, np.ndarray]]:
    """Return what the learners have saved after a number of steps."""
    return [dict(np.load(folder / f"{rank}_{steps}.npz")) for rank in range(2)]


def test_learners_share_their_gradients_and_a_run(tmp_path: Path) -> None:
    """Two learners take the step of one that has both minibatches; a run goes on with what the first has written."""
    torchrun("tests/train/learners.py", str(tmp_path), "1", "3")
    first, second = arrays_of(tmp_path, 1)
    state = [name for name in first if name.startswith(("network.", "optimizer.", "before."))]
    assert len(state) > 20 and all((first[name] == second[name]).all() for name in state)
    parts = [name for name in first if name.startswith("part.")]
    assert len(parts) == 4 and not all((first[name] == second[name]).all() for name in parts), "their games differ"
    assert first["counters"].tolist() == second["counters"].tolist() == [1, 2 * 8 * 4]

    env = shared_env("tic_tac_toe")
    one = te.train.AlphaZero(env, te.train.AlphaZeroConfig(**SETTINGS), network=Dense(env, hidden=8))
    one.assign_weights({name[7:]: first[name] for name in state if name.startswith("before.")})
    both = [np.concatenate([first[name], second[name]]) for name in parts]
    one.trainable.learn([both], one.learning_rate(), 0)
    momenta = {name: array for name, array in one.trainable.checkpoint().items() if name.endswith("exp_avg")}
    assert momenta and all(np.allclose(first[name], array, atol=1e-7) for name, array in momenta.items())

    third, fourth = arrays_of(tmp_path, 3)
    assert third["counters"].tolist() == fourth["counters"].tolist() == [3, 3 * 2 * 8 * 4]
    assert third["learned"] == fourth["learned"] == 2, "the first step was done"
    assert all((third[name] == fourth[name]).all() for name in state)


@pytest.mark.slow
def test_the_command_in_two_processes(tmp_path: Path) -> None:
    settings = "--network dense --hidden 8 --num-envs 8 --rollout-length 4 --ratings 1 --minutes 0.05"
    torchrun("-m", "tensor_envs.train", "ppo", "tic_tac_toe", "--folder", str(tmp_path / "run"), *settings.split())
    assert te.agents.load(tmp_path / "run" / "weights.safetensors", 0) is not None


def test_only_networks_of_pytorch_have_several_learners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensor_envs.train.run.num_learners", lambda: 2)
    with pytest.raises(ValueError, match="network must be a module of PyTorch where torchrun has started several"):
        te.train.PPO(shared_env("tic_tac_toe"))
    for name in parallel.STARTED:
        monkeypatch.setenv(name, "2")
    _, _, errors = run_here(main, ["ppo", "tic_tac_toe", "--steps", "1", "--ray"])
    assert "--ray must not be given to learners that torchrun has started" in errors


def test_modes_are_of_networks_of_pytorch(tmp_path: Path) -> None:
    env = shared_env("tic_tac_toe")
    for name in ("bfloat16", "compiled"):
        with pytest.raises(ValueError, match=f"{name} must be False for a network of tinygrad"):
            te.train.PPO(env, te.train.PPOConfig(**{name: True}))


def test_bfloat16_computes_nearly_the_same(tmp_path: Path) -> None:
    """Weights stay in float32, a run can be continued, and outputs differ by roundings to eight bits."""
    env = shared_env("tic_tac_toe")
    trainers = []
    for bfloat16 in (False, True):
        torch.manual_seed(0)
        config = te.train.AlphaZeroConfig(**SETTINGS, bfloat16=bfloat16)
        trainers.append(te.train.AlphaZero(env, config, network=Dense(env, hidden=64)))
    exact, rounded = ([part.numpy() for part in trainer.evaluate(env.init(5))] for trainer in trainers)
    for a, b in zip(exact, rounded, strict=True):
        assert b.dtype == np.float32 and (a != b).any() and np.allclose(a, b, atol=0.02)
    trainers[1].run(steps=2, folder=tmp_path)
    assert all(array.dtype == np.float32 for array in trainers[1].weights().values())
    assert te.train.AlphaZero.load(tmp_path).config.bfloat16


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")  # of PyTorch's own modules
def test_a_compiled_network_plays_and_learns() -> None:
    env = shared_env("tic_tac_toe")
    losses = []
    for compiled in (False, True):
        torch.manual_seed(0)
        config = te.train.AlphaZeroConfig(**SETTINGS, compiled=compiled)
        trainer = te.train.AlphaZero(env, config, network=Dense(env, hidden=8))
        losses.append([trainer.step()["value_loss"] for _ in range(2)])
    assert np.allclose(losses[0], losses[1], rtol=1e-3)
