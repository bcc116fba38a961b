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
    importlib.import_module("torch").set_num_threads(1)  # as the command; more would wait for each other
    options = {"num_envs": 64, "steps": 12, "simulations": 4, "hidden": 32, "keep": 2, "minibatch": 128, "rate": 0.01}
    others = {"explore": 4, "seed": 0, "games": 32, "rival": 8}
    return script().AlphaZero(shared_env(name), SimpleNamespace(**{**options, **others, **changes}))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "weights.pt"
    few = "--num-envs=16 --steps=4 --simulations=4 --hidden=8 --minibatch=32 --games=8 --rival=4 --ratings=1"
    script().main([*few.split(), "--seconds=0.5", "--save", str(path)])
    assert " decisions, " in (text := capsys.readouterr().out) and "score" in text
    torch = importlib.import_module("torch")
    network = script().Network(shared_env("tic_tac_toe"), 8)
    network.load_state_dict(torch.load(path))
    three = te.make("tensor_equilibrium", players=3)
    monkeypatch.setattr(te, "make", lambda _: three)
    with pytest.raises(SystemExit):
        script().main([])
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


def test_learning() -> None:
    """Learn from positions with one mark, whose place is the action and determines the value, in two rounds."""
    torch, player = importlib.import_module("torch"), learner("tic_tac_toe")
    values, weights = torch.linspace(0, 0.5, 9), torch.eye(9)
    for rows in (slice(0, 4), slice(4, 9)):
        mask = torch.ones(9, 9, dtype=torch.bool)[rows]
        player.rounds.append((torch.eye(18)[:9][rows], mask, weights[rows], values[rows]))
    losses = [player.learn() for _ in range(100)]
    logits, found = player.network(torch.eye(18)[:9])
    assert losses[-1] < losses[0] / 10 and (found - values).abs().max() < 0.1
    assert (logits.argmax(1) == torch.arange(9)).all()


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
