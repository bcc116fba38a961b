"""Self-play and the replay buffer: targets by a plain-Python reference, games step by step, symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.train.replay import ReplayBuffer, Samples
from tensor_envs.train.self_play import Decision, exploration, self_play, value_targets
from tests.games.shared import shared_env
from tests.train.sizes import alphazero


def shared(value: float, player: int, players: int) -> list[float]:
    """Return all players' values from one player's."""
    return [value if p == player else -value / max(1, players - 1) for p in range(players)]


def target(
    decisions: list[Decision], row: int, last_value: float, last_player: int, weight: float, t: int = 0
) -> list[float]:
    """Return the returns of all players from decision t of a game on, as its network learns them."""
    if t == len(decisions):
        return shared(last_value, last_player, decisions[0].rewards.shape[1])
    step = decisions[t]
    player, players = int(step.player[row]), step.rewards.shape[1]
    if step.settled[row]:
        return shared(float(step.settled_value[row]), player, players)
    later = [0.0] * players
    if not step.ended[row]:
        later = target(decisions, row, last_value, last_player, weight, t + 1)
    own = shared(float(step.value[row]), player, players)
    return [
        (1 - weight) * (float(paid) + rest) + weight * v
        for paid, rest, v in zip(step.rewards[row], later, own, strict=True)
    ]


@pytest.mark.parametrize("players", [1, 2, 3])
@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0])
def test_targets_by_reference(players: int, weight: float) -> None:
    random, batch, length = np.random.default_rng(players), 30, 9
    decisions = [
        Decision(
            random.integers(players, size=batch),
            random.random(batch) < 0.2,
            random.normal(size=batch),
            random.normal(size=batch),
            random.normal(size=(batch, players)),
            random.random(batch) < 0.2,
        )
        for _ in range(length)
    ]
    last, player = random.normal(size=batch), random.integers(players, size=batch)
    found = value_targets(decisions, last, player, weight)
    for row in range(batch):
        for t in range(length):
            expected = target(decisions, row, float(last[row]), int(player[row]), weight, t)
            assert np.isclose(found[t][row], expected[decisions[t].player[row]], atol=1e-5)


@pytest.mark.few("kuhn_poker")
@pytest.mark.parametrize("name", ["kuhn_poker", "2048", "tensor_stars", "connect_four"])
def test_games_step_by_step(name: str) -> None:
    """Replay the searches' actions, and compare the samples with what every search reported and every game paid."""
    env, reported = shared_env(name), list[tuple[te.State, te.search.SearchOutput]]()

    def search(state: te.State, seed: int) -> te.search.SearchOutput:
        reported.append((state, te.search.playout_policy(state, 4, seed=seed)))
        return reported[-1][1]

    state, random = env.init(6, seed=1), np.random.default_rng(0)
    length = 7 if name == "kuhn_poker" else 40  # so that games end, but for 2048
    after, samples = self_play(state, search, length, random, explore_plies=0, search_value_weight=0.2)
    assert len(reported) == length + 1 and (samples.mask.any(1)).all()
    decisions = []
    for t, (before, output) in enumerate(reported[:-1]):
        assert all(np.array_equal(a, b) for a, b in zip(before.numpy().values(), state.numpy().values(), strict=True))
        rows = slice(6 * t, 6 * t + 6)
        assert np.array_equal(samples.observation[rows], env.observe(state).numpy().reshape(6, -1))
        assert np.array_equal(samples.mask[rows], state.legal_action_mask.numpy())
        tree = output.search_tree
        assert np.allclose(samples.policy[rows], tree.visit_counts.numpy() / 4)
        stepped, player, value = env.step(state, output.action), state.current_player.numpy(), tree.value.numpy()
        over = (stepped.terminated | stepped.truncated).numpy()
        decisions.append(Decision(player, np.zeros(6, bool), value, value, stepped.rewards.numpy(), over))
        state = env.reset(stepped)
    assert np.array_equal(state.ply.numpy(), after.ply.numpy())
    last, player = reported[-1][1].search_tree.value.numpy(), state.current_player.numpy()
    for row in range(6):
        for t, step in enumerate(decisions):
            expected = target(decisions, row, float(last[row]), int(player[row]), 0.2, t)[step.player[row]]
            assert np.isclose(samples.value[6 * t + row], expected, atol=1e-4)
    assert samples.value.std() > 0 and any(step.ended.any() for step in decisions) == (name != "2048")


@pytest.mark.slow
def test_exploring_actions_are_random_and_legal() -> None:
    env, played = shared_env("connect_four"), list[int]()

    def search(state: te.State, seed: int) -> te.search.SearchOutput:
        played.append(int(state.ply.numpy()[0]))
        return te.search.playout_policy(state, 2, seed=5)

    def explored(plies: int) -> int:
        """Return the number of games in which two runs of other generators differ."""
        states = [
            self_play(env.init(64, seed=1), search, 4, np.random.default_rng(k), explore_plies=plies)[0]
            for k in range(2)
        ]
        boards = [state.numpy() for state in states]
        assert all((state.ply.numpy() == 4).all() for state in states)  # no illegal action has ended a game
        return int(
            sum((boards[0][name] != boards[1][name]).reshape(64, -1).any(1) for name in boards[0]).astype(bool).sum()
        )

    assert explored(0) == 0 and explored(4) > 40


def test_games_explore_to_different_degrees() -> None:
    """Some games play by the search alone, some at random, and half of all exploring actions are random."""
    env, seen, actions, games, plies = shared_env("connect_four"), list[te.State](), list[Any](), 256, 6

    def search(state: te.State, seed: int) -> te.search.SearchOutput:
        output = te.search.playout_policy(state, 2, seed=5)
        seen.append(state)
        actions.append(output.action)
        return output

    self_play(env.init(games, seed=1), search, plies, np.random.default_rng(0), explore_plies=plies)
    others = np.zeros(games)  # actions that are not the search's: six of seven random ones
    for before, action, after in zip(seen, actions, seen[1:], strict=False):
        expected, found = (env.observe(state).numpy().reshape(games, -1) for state in (env.step(before, action), after))
        others += (expected != found).any(1)
    probability = exploration(np.zeros(games, np.uint32))
    assert others[probability < 0.05].max() <= 2 and others[probability > 0.95].min() >= 3
    assert np.isclose(others.mean(), plies / 2 * 6 / 7, atol=0.3)


@pytest.mark.slow
def test_exact_values_are_targets_from_their_ply_on() -> None:
    """Targets are the enumerated values from ply 6 on, and before it that at ply 6, for the players to move."""
    env, asked, seen = te.make("connect_four", rows=4, columns=4), list[te.State](), list[te.State]()
    searched, enumerated = te.solve(env, method="search"), te.solve(env)

    def search(state: te.State, seed: int) -> te.search.SearchOutput:
        seen.append(state)
        return te.search.playout_policy(state, 4, seed=seed)

    def exact_values(state: te.State) -> np.ndarray:
        asked.append(state)
        return searched.value(state)

    state, random = env.init(64, seed=1), np.random.default_rng(0)
    settings: dict[str, Any] = {"explore_plies": 0, "search_value_weight": 0.0, "exact_ply": 6}
    _, samples = self_play(state, search, 12, random, exact_values=exact_values, **settings)
    plies = np.array([state.ply.numpy() for state in seen[:-1]])
    exact = np.array([enumerated.value(state) for state in seen[:-1]])
    targets = samples.value.reshape(plies.shape)
    assert (targets == exact)[plies >= 6].all() and set(targets[plies >= 6]) == {-1, 0, 1}
    assert all(state.ply.numpy().min() >= 6 for state in asked)
    assert (plies[:7] == np.arange(7)[:, None]).all()  # no game ends sooner
    assert (targets[:6] == exact[6] * np.array([[1], [-1]] * 3)).all()


def samples_of(values: Any, cells: np.ndarray) -> Samples:
    board, first = np.tile(cells, (len(values), 1)), np.tile(cells[:9] == 0, (len(values), 1))
    return Samples(board, first, first * np.float32(0.5), np.asarray(values, np.float32))


def test_the_oldest_step_is_replaced_and_symmetries_are_drawn() -> None:
    symmetries = list(shared_env("tic_tac_toe").symmetries())
    replay, cells = ReplayBuffer(2, symmetries), np.arange(18, dtype=np.uint8)
    assert len(replay) == 0 and replay.arrays() == {}
    for k in range(3):
        replay.add(samples_of(np.arange(4) + 4 * k, cells))
        assert len(replay) == min(k + 1, 2) * 4
    random = np.random.default_rng(0)
    seen, mask, weights, values = replay.sample(256, random)
    assert sorted(set(values.tolist())) == [*range(4, 12)]
    turns = [symmetries.index(turn) for row in seen for turn in symmetries if (row == turn.observation).all()]
    assert len(turns) == 256 and set(turns) == set(range(8))
    assert (mask == [np.equal(symmetries[k].actions, 0) for k in turns]).all() and (weights == mask / 2).all()
    assert values.tolist() != replay.sample(256, random).value.tolist()


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_a_restored_buffer_goes_on_alike(steps: int) -> None:
    symmetries, cells = list(shared_env("tic_tac_toe").symmetries())[:1], np.arange(18, dtype=np.uint8)
    replay, again = ReplayBuffer(3, symmetries), ReplayBuffer(3, symmetries)
    for k in range(steps):
        replay.add(samples_of([k, k + 0.5], cells))
    again.restore(replay.arrays(), replay.added)
    for k in range(3):
        drawn = [buffer.sample(32, np.random.default_rng(k)) for buffer in (replay, again)]
        assert all(np.array_equal(a, b) for a, b in zip(*drawn, strict=True))
        for buffer in (replay, again):
            buffer.add(samples_of([10 + k, 20 + k], cells))


def test_playout_search_plays_the_first_part() -> None:
    trainer = alphazero(shared_env("kuhn_poker"), playout_share=0.5, playout_simulations=3)
    for progress, count in ((0.0, 3), (0.49, 3), (0.5, 4), (1.0, 4)):
        trainer.progress = progress
        visits = trainer.search(trainer.state, 1).search_tree.visit_counts.numpy()
        assert (visits.sum(1) == count).all()


@pytest.mark.slow
def test_exact_values_are_those_of_the_game() -> None:
    trainer = alphazero(shared_env("tic_tac_toe"), exact_ply=2)
    assert trainer.exact_values is not None
    assert trainer.exact_values(trainer.env.init(3)).tolist() == [0, 0, 0]
    assert alphazero(shared_env("tic_tac_toe")).exact_values is None
    with pytest.raises(ValueError, match=r"exact_ply must be 0 for <Env kuhn_poker.*: start must be of a game for two"):
        alphazero(shared_env("kuhn_poker"), exact_ply=2)
