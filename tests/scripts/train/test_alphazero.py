"""scripts/train/alphazero.py learns, saves, resumes, and loses no line of tic-tac-toe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs import agents
from tests.games.shared import shared_env
from tests.scripts import here  # noqa: F401 (puts modules of the scripts on the path)
from tests.scripts.here import complaints, status
from train import alphazero, training


def options(env: str, *given: str) -> Any:
    made = alphazero.make_parser().parse_args([f"--env={env}", *given])
    training.check_options(made)
    return made


def lost_lines(env: te.Env, policy: Any, player: int) -> int:
    """Count the games that a policy loses over all replies of the other player."""
    state, lost = env.init(1), 0
    while True:
        now = state.numpy()
        over = now["terminated"] | now["truncated"]
        lost += int((now["rewards"][over, player] < 0).sum())
        if over.all():
            return lost
        state = state[~over]
        now = state.numpy()
        if now["current_player"][0] == player:
            state = env.step(state, policy(state))
        else:
            rows, actions = np.nonzero(now["legal_action_mask"])
            state = env.step(env.take(state, rows), actions)


@pytest.mark.slow
def test_lines_are_counted() -> None:
    env = shared_env("tic_tac_toe")
    assert lost_lines(env, agents.perfect(), 0) == lost_lines(env, agents.perfect(), 1) == 0
    assert lost_lines(env, lambda s: s.legal_action_mask.numpy().argmax(1), 1) > 10


@pytest.mark.slow
@pytest.mark.parametrize("tower", [[], ["--blocks=1", "--channels=4"]], ids=["flat", "tower"])
def test_it_trains_saves_and_goes_on(tower: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights, curve = tmp_path / "weights.safetensors", tmp_path / "curve.json"
    small = ["--num-envs", "32", "--steps", "4", "--simulations", "4", "--hidden", "16", "--updates", "2"]
    small += ["--minibatch", "64", "--seconds", "0.5", "--rival", "4", "--games", "16", "--ratings", "2"]
    assert status(alphazero.main, [*small, *tower, "--save", str(weights), "--json", str(curve)]) == 0
    told = json.loads(curve.read_text())
    assert told["env"] == "tic_tac_toe" and told["decisions"][-1] % 128 == 0 and told["seconds"][-1] >= 0.5
    assert all(0 <= score <= 1 for (score,) in told["rates"])
    assert len(capsys.readouterr().out.splitlines()) in (2 + len(told["rates"]), 3 + len(told["rates"]))
    again = tmp_path / "again.safetensors"
    assert status(alphazero.main, [*small, "--resume", str(weights), "--save", str(again)]) == 0
    assert again.stat().st_size == weights.stat().st_size and again.read_bytes() != weights.read_bytes()
    assert status(alphazero.main, [*small, "--resume", str(curve)]) == 2
    assert status(alphazero.main, [*small, "--env=connect_four", "--resume", str(weights)]) == 2
    assert "--resume must be weights for <Env connect_four-v0" in capsys.readouterr().err


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["kuhn_poker", "2048"])
def test_values_are_for_every_player(name: str) -> None:
    """Check a round of self-play: returns of the mover, and weights of legal actions only."""
    env = shared_env(name)
    learner = alphazero.AlphaZero(options(name, "--num-envs=8", "--steps=5", "--simulations=4", "--keep=1"))
    assert learner.play() == 40 and learner.replay.size().item() == 40
    seen, mask, weights, values = (part.numpy()[0] for part in learner.replay.parts)
    assert seen.shape == (40, int(np.prod(env.observation_shape))) and values.shape == (40,)
    assert np.allclose(weights.sum(1), 1, atol=1e-4) and not weights[mask == 0].any()
    assert values.std() > 0


def test_learning_of_a_tower_lowers_the_loss() -> None:
    """Learn from positions with one mark, whose place is the action and determines the value."""
    given = ("--blocks=1", "--channels=4", "--num-envs=8", "--keep=1", "--minibatch=64", "--hidden=16")
    learner = alphazero.AlphaZero(options("tic_tac_toe", *given, "--rate=0.01"))
    seen, values = np.eye(18, dtype=np.uint8)[:9], np.linspace(0, 0.5, 9, dtype=np.float32)
    mask, weights = np.ones((9, 9), bool), np.eye(9, dtype=np.float32)
    learner.replay.add([seen, mask, weights, values])

    def loss() -> float:
        logs, found = learner.network(Tensor(seen).float(), Tensor(mask))
        return float(np.square(found.numpy() - values).mean() - (weights * logs.numpy()).sum(1).mean())

    before, size = loss(), learner.replay.size()
    with Context(TRAINING=1):  # type: ignore[no-untyped-call]
        for _ in range(30):
            learner.learn(size)
    assert loss() < before / 2


def test_wrong_towers(capsys: pytest.CaptureFixture[str]) -> None:
    for given, message in (
        (["--env=kuhn_poker", "--blocks=1"], "blocks must be 0 where [planes, rows, columns] are not observed"),
        (["--blocks=-1"], "argument --blocks: must be in 0..64, got -1"),
        (["--blocks=1", "--channels=0"], "argument --channels: must be in 1..2147483647, got 0"),
    ):
        assert status(alphazero.main, given) == 2
        assert complaints(capsys.readouterr().err).startswith(f"alphazero.py: error: {message}")


def test_values_are_what_playout_search_says_where_it_is_trusted() -> None:
    given = ("--num-envs=8", "--steps=5", "--explore=0", "--keep=1", "--playouts=4", "--warm=0.5", "--trust=1")
    learner = alphazero.AlphaZero(options("kuhn_poker", *given))
    search, said = learner.search, list[te.search.SearchOutput]()

    def heard(seed: int) -> te.search.SearchOutput:
        said.append(search(seed))
        return said[-1]

    learner.search = heard  # type: ignore[method-assign]
    assert learner.play() == 40 and len(said) == 6
    values = np.concatenate([found.search_tree.value.numpy() for found in said[:-1]])
    visits = np.concatenate([found.search_tree.visit_counts.numpy() for found in said[:-1]])
    assert values.std() > 0 and np.allclose(learner.replay.parts[3].numpy()[0], values)
    assert (visits.sum(1) == 4).all() and np.allclose(learner.replay.parts[2].numpy()[0], visits / 4)
    learner.remaining = 0.5
    assert search(1).search_tree.visit_counts.numpy()[0].sum() == learner.options.simulations


def test_the_oldest_round_is_forgotten_and_symmetries_are_drawn() -> None:
    symmetries = list(shared_env("tic_tac_toe").symmetries())
    replay, cells = alphazero.ReplayBuffer(2, symmetries), np.arange(18, dtype=np.uint8)
    board, first = np.tile(cells, (4, 1)), np.tile(cells[:9] == 0, (4, 1))
    for k in range(3):
        replay.add([board, first, first * np.float32(0.5), np.arange(4, dtype=np.float32) + 4 * k])
        assert replay.size().item() == min(k + 1, 2) * 4
    drawn = te.jit(lambda size: list(replay.sample(256, size)))
    for _ in range(3):  # every replay resamples
        seen, mask, weights, values = (x.numpy() for x in drawn(replay.size()))
        assert sorted(set(values.tolist())) == [*range(4, 12)]
        turns = [symmetries.index(turn) for row in seen for turn in symmetries if (row == turn.observation).all()]
        assert len(turns) == 256 and set(turns) == set(range(8))
        assert (mask == [np.equal(symmetries[k].actions, 0) for k in turns]).all() and (weights == mask / 2).all()
    assert values.tolist() != drawn(replay.size())[3].tolist()


@pytest.mark.slow
def test_regret_of_shed_falls() -> None:
    learner = alphazero.AlphaZero(options("shed", "--rules=cards=5", "--regret", "--games=256", "--hidden=32"))
    before = learner.rates()
    for _ in range(4):
        learner.update(1.0)
    after = learner.rates()
    assert len(after) == 3 and 0 <= after[2] < before[2] and after[1] < before[1] + 0.02


@pytest.mark.slow
def test_no_lost_line_of_tic_tac_toe_after_30_seconds(tmp_path: Path) -> None:
    weights = tmp_path / "weights.safetensors"
    options = "--seconds 30 --explore 8 --hidden 64 --simulations 16 --minibatch 512 --updates 32 --rate 0.006"
    assert status(alphazero.main, [*options.split(), "--save", str(weights)]) == 0
    env = shared_env("tic_tac_toe")
    for player in range(2):
        assert lost_lines(env, agents.load(weights, 32), player) == 0
