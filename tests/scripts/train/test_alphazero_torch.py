"""scripts/train/alphazero_torch.py learns in PyTorch from self-play with a search."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tests.games.shared import shared_env
from tests.scripts import here  # noqa: F401 (puts modules of the scripts on the path)

pytestmark = pytest.mark.extra("torch")


def script() -> Any:
    return importlib.import_module("train.alphazero_torch")


def learner(name: str, **changes: Any) -> Any:
    options = {"num_envs": 64, "steps": 12, "simulations": 4, "hidden": 32, "keep": 2, "minibatch": 128, "rate": 0.01}
    others = {"explore": 4, "seed": 0, "games": 32, "rival": 8}
    return script().AlphaZero(shared_env(name), SimpleNamespace(**{**options, **others, **changes}))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "weights.pt"
    few = "--num-envs=16 --steps=4 --simulations=4 --hidden=8 --minibatch=32 --games=8 --rival=4 --ratings=1"
    script().main([*few.split(), "--seconds=0.5", "--save", str(path)])
    assert " decisions, " in (text := capsys.readouterr().out) and "score" in text
    torch = importlib.import_module("torch")
    network = script().Network(shared_env("tic_tac_toe"), 8)
    network.load_state_dict(torch.load(path))
    with pytest.raises(SystemExit):
        script().main(["--env=tensor_equilibrium"])
    assert "--env must be a game for one player, or for two with zero sum" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["tic_tac_toe", "2048"])
def test_targets_are_returns_of_the_mover(name: str) -> None:
    """Compare a round with the same games, played again."""
    env, steps = shared_env(name), 12
    player = learner(name, explore=0)
    state, search, outputs = player.state, player.search, list[te.search.SearchOutput]()

    def recorded() -> te.search.SearchOutput:
        outputs.append(search())
        return outputs[-1]

    player.search = recorded
    assert player.play() == 64 * steps
    observation, mask, weights, returns = (part.numpy().reshape(steps, 64, -1) for part in player.rounds[0])
    expected = np.zeros((steps, 64))
    movers, rewards, over = [], [], []
    for t in range(steps):
        fields = state.numpy()
        assert (observation[t] == env.observe(state).numpy().reshape(64, -1)).all()
        assert (mask[t] == fields["legal_action_mask"]).all()
        assert np.allclose(weights[t].sum(1), 1, atol=1e-4) and not weights[t][~mask[t]].any()
        movers.append(fields["current_player"])
        state = env.step(state, outputs[t].action)
        fields = state.numpy()
        rewards.append(fields["rewards"])
        over.append(fields["terminated"] | fields["truncated"])
        state = env.reset(state)
    last, mover = outputs[-1].search_tree.value.numpy(), state.numpy()["current_player"]
    for t in range(steps):
        for row in range(64):
            for later in range(t, steps):
                expected[t, row] += rewards[later][row, movers[t][row]]
                if over[later][row]:
                    break
            else:
                expected[t, row] += last[row] if mover[row] == movers[t][row] else -last[row]
    assert np.allclose(returns[:, :, 0], expected, atol=1e-5) and expected.std() > 0


def test_learning_lowers_the_loss() -> None:
    player = learner("tic_tac_toe")
    player.play()
    losses = [player.learn() for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])


@pytest.mark.slow
def test_it_learns_tic_tac_toe() -> None:
    """After 40 rounds it loses hardly more games than perfect play to the same opponent."""
    player = learner("tic_tac_toe", num_envs=256, steps=16, simulations=32, hidden=128, keep=12, minibatch=1024)
    player.options.games, player.options.rival, player.options.rate = 128, 64, 2e-3
    before = player.rating().scores[0]
    for _ in range(40):
        player.play()
        for _ in range(16):
            player.learn()
    perfect = [te.agents.perfect(), te.agents.playout_search(64, seed=1)]
    best = te.evaluate(player.env, perfect, 128, seed=1, opening=2).scores[0]
    assert before < player.rating().scores[0] and player.rating().scores[0] > best - 0.05
