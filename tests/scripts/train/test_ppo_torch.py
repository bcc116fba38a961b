"""scripts/train/ppo_torch.py: rollouts against a plain-Python reference, and learning."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.scripts.here import complaints, run_here, status
from tests.test_learning import Steps
from tests.train.sizes import PPO
from tests.train.test_ppo import check_rollout, movers, race  # noqa: F401 (a fixture)
from train import ppo_torch

SMALL = [f"--{name.replace('_', '-')}={value}" for name, value in PPO.items() if name != "ratings"]


@pytest.mark.extra("torch")
def test_rollouts(race: te.Env) -> None:  # noqa: F811
    torch = pytest.importorskip("torch")
    learner = ppo_torch.TorchPPO(race, te.train.PPOConfig(**PPO))
    vector = te.VectorEnv(race, 8, 0, "CPU", autoreset="next_step")

    def evaluate(state: te.State) -> tuple[Any, Any]:
        observation, mask = race.observe(state).numpy(), state.legal_action_mask.numpy()
        return learner.evaluate(torch.from_numpy(observation.reshape(8, -1)).float(), torch.from_numpy(mask))

    for _ in range(3):
        with torch.no_grad():
            data = [part.numpy() for part in learner.play()]
            _, mask, action, old, value, advantage, valid = data
            steps: Steps = []
            for t in range(4):
                now = vector.state.numpy()
                assert (now["legal_action_mask"] == mask[t]).all()
                if t == 0:
                    logs = evaluate(vector.state)[0].numpy()
                    assert np.allclose(np.take_along_axis(logs, action[t], 1)[:, 0], old[t], atol=1e-5)
                vector.step(action[t, :, 0].astype(np.int32))
                then = vector.state.numpy()
                steps.append((then["rewards"], movers(now), value[t], then["terminated"], then["truncated"]))
            next_value = evaluate(vector.state)[1].numpy()
        check_rollout(steps, movers(vector.state.numpy()), next_value, advantage, valid)


@pytest.mark.extra("torch")
def test_a_few_steps() -> None:
    code, out, errors = run_here(ppo_torch.main, ["--env=kuhn_poker", *SMALL, "--steps=3", "--ratings=2"])
    assert (code, errors) == (0, "")
    line = r"step %d, \d+ positions, [\d.]+ s: score [01]\.\d+ score_interval .* mean_return -?\d\.\d+\n"
    assert re.fullmatch(line % 2 + line % 3, out)


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--minibatches", "3"], "minibatches must divide num_envs, got 3 and 256"),
        (["--rollout-length", "0"], "argument --rollout-length: must be in 1..2147483647, got 0"),
        (["--learning-rate", "nan"], "argument --learning-rate: must be at least 0 and at most 1, got nan"),
        (["--rules", "k"], "argument --rules: must be FIELD=VALUE with a plain Python value, got 'k'"),
    ):
        assert status(ppo_torch.main, arguments) == 2
        assert complaints(capsys.readouterr().err).strip() == f"python scripts/train/ppo_torch.py: error: {message}"


def test_without_pytorch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert status(ppo_torch.main, []) == 2
    message = "python scripts/train/ppo_torch.py: error: this script needs PyTorch: pip install 'tensor_envs[torch]'"
    assert complaints(capsys.readouterr().err).strip() == message


@pytest.mark.slow
@pytest.mark.extra("torch")
def test_it_learns_tic_tac_toe() -> None:
    code, out, _ = run_here(ppo_torch.main, ["--seed=1", "--ratings=1", "--rating-games=8192"])
    found = re.search(r"score (\d\.\d+)", out)
    assert code == 0 and found is not None and float(found[1]) > 0.9
