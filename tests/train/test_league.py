"""The league: games ply by ply against a plain-Python reference, runs, learning and errors."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.envs.sampling import sample_action
from tensor_envs.files.arrays import read_arrays
from tensor_envs.search.outputs import Evaluate
from tensor_envs.search.policies import gumbel_muzero_policy
from tensor_envs.train.league import League
from tensor_envs.train.network import network_inputs
from tensor_envs.train.run import CHECKPOINT, FORMAT
from tensor_envs.train.self_play import Decision
from tests.games.shared import shared_env
from tests.test_learning import Steps, reference
from tests.train.sizes import TRAINERS, alphazero, ppo
from tests.train.test_run import lines_of, timeless
from tests.train.test_self_play import target

SETTINGS: dict[str, Any] = {"league_share": 0.5, "league_size": 2, "league_steps": 3}
# Of eight games these are the league's: the member of each, and the learner's seat in its episode 0.
GAMES = {0: (0, 0), 2: (1, 0), 4: (0, 1), 6: (1, 1)}


class Games:
    """Bookkeeping of the league's games in plain Python, from what happens in each game.

    Attributes:
        pool: steps of the members.
        episode: number of the present episode by row.
    """

    def __init__(self, players: int):
        self.players = players
        self.pool = [-1, -1]
        self.episode = dict.fromkeys(range(8), 0)
        self.paid: dict[int, float | None] = dict.fromkeys(GAMES)

    def join(self, pool: list[int]) -> None:
        """Forget the games whose member changes."""
        for row, (member, _) in GAMES.items():
            if pool[member] != self.pool[member]:
                self.paid[row] = None
        self.pool = pool

    def seat(self, row: int) -> int:
        """Return the learner's seat in a league's game."""
        return (GAMES[row][1] + self.episode[row]) % self.players

    def learns(self, player: np.ndarray) -> np.ndarray:
        """Return whether the learner decides in each game."""
        return np.array([row not in GAMES or player[row] == self.seat(row) for row in range(8)])

    def play(self, results: dict[int, list[float]], rewards: np.ndarray, ended: np.ndarray) -> None:
        """Add the results of the games that end in a step to those of their members."""
        for row in range(8):
            if row in GAMES:
                before, step = self.paid[row], self.pool[GAMES[row][0]]
                after = None if before is None else before + float(rewards[row, self.seat(row)])
                if ended[row] and after is not None:
                    results.setdefault(step, []).append(after)
                self.paid[row] = 0.0 if ended[row] else after
            self.episode[row] += int(ended[row])


def means(results: dict[int, list[float]]) -> Any:
    return pytest.approx({f"league_return_{step}": np.mean(paid) for step, paid in results.items()}, abs=1e-5)


def game(name: str) -> te.Env:
    """Return a game for two, one with secrets and chance, or one of either kind for three."""
    if name == "liars_dice":
        return shared_env(name, players=3, dice=1, sides=3)
    return te.make("tests.games.dice_race:DiceRace", goal=4) if name == "dice_race" else shared_env(name)


NAMES = ["kuhn_poker", "tic_tac_toe", "liars_dice", "dice_race"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rollouts_of_ppo(name: str) -> None:
    """Every action is drawn from its player's network, and only the learner's decisions have advantages."""
    env = game(name)
    trainer, other = ppo(env, **SETTINGS, learning_rate=0.1), ppo(env)
    state, books, met = trainer.state, Games(env.num_players), set[int]()
    for step in range(7):
        trainer.join_league()
        pool = trainer.pool()
        assert [joined for joined, _ in pool] == [[0, 0], [0, 3], [6, 3]][step // 3]
        books.join([joined for joined, _ in pool])
        minibatches = trainer.play(step)
        columns = zip(*minibatches, strict=True)
        joined = [np.concatenate([part.numpy().reshape(4, 4, -1) for part in column]) for column in columns]
        _, mask, chosen, old, value, advantage, valid = (part.swapaxes(0, 1).squeeze() for part in joined)
        steps: Steps = []
        results: dict[int, list[float]] = {}
        own = trainer.weights()
        for t in range(4):
            now = state.numpy()
            learns = books.learns(now["current_player"])
            actions = chosen[t].argmax(1)
            played = np.full(8, -1)
            for member, weights in [(-1, own), *enumerate(arrays for _, arrays in pool)]:
                other.assign_weights(weights)
                logs, _ = other.trainable(*network_inputs(env, state))
                drawn = sample_action(logs, state.legal_action_mask, state.action_key, state.ply).numpy()
                here = [learns[row] if member < 0 else not learns[row] and GAMES[row][0] == member for row in range(8)]
                played = np.where(here, drawn, played)
                if member < 0:  # the ratio of the loss is between networks of the learner
                    assert np.allclose((logs.numpy() * chosen[t]).sum(1), old[t], atol=1e-4)
            assert (actions == played).all() and (now["legal_action_mask"] == mask[t]).all()
            state = env.step(state, actions)
            then = state.numpy()
            player = np.eye(env.num_players)[now["current_player"]] * learns[:, None]
            steps.append((then["rewards"], player, value[t], then["terminated"], then["truncated"]))
            books.play(results, then["rewards"], then["terminated"] | then["truncated"])
            state = env.reset(state)
        last = state.numpy()["current_player"]
        next_player = np.eye(env.num_players)[last] * books.learns(last)[:, None]
        other.assign_weights(own)
        expected = reference(steps, next_player, other.trainable(*network_inputs(env, state))[1].numpy(), 1.0, 0.95)
        assert np.allclose(advantage, expected[0], atol=1e-4) and (valid == expected[1]).all() and valid.any()
        assert trainer.league_metrics() == means(results)
        met |= results.keys()
        trainer.update(minibatches)
    assert {0, 3} <= met


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_self_play_of_alphazero(name: str) -> None:
    """Every action is that of its player's own search; samples are the learner's, with its searches' values."""
    env = game(name)
    trainer, other = alphazero(env, **SETTINGS, explore_plies=0, learning_rate=0.1), alphazero(env)
    books, met = Games(env.num_players), set[int]()
    searched = list[tuple[te.State, te.search.SearchOutput]]()
    seeds = list[int]()
    search, past_search = trainer.search, trainer._past_search

    def of_learner(state: te.State, seed: int) -> te.search.SearchOutput:
        searched.append((state, search(state, seed)))
        return searched[-1][1]

    def of_members(state: te.State, evaluate: Evaluate, seed: int) -> te.search.SearchOutput:
        seeds.append(seed)
        return past_search(state, evaluate, seed)

    trainer.search, trainer._past_search = of_learner, of_members  # type: ignore[method-assign]
    for step in range(7):
        trainer.join_league()
        pool = trainer.pool()
        books.join([joined for joined, _ in pool])
        searched.clear()
        seeds.clear()
        samples = trainer.play(step)
        decisions, learned = list[Decision](), list[np.ndarray]()
        results: dict[int, list[float]] = {}
        assert len(searched) == 5 and len(seeds) == 4
        for (state, output), seed in zip(searched[:-1], seeds, strict=True):
            now = state.numpy()
            learns = books.learns(now["current_player"])
            actions = output.action.numpy().copy()
            for member, (_, weights) in enumerate(pool):
                other.assign_weights(weights)
                rows = np.array([row for row in GAMES if GAMES[row][0] == member])
                past = gumbel_muzero_policy(state[rows], other.evaluate, 4, seed=seed).action.numpy()
                actions[rows] = np.where(learns[rows], actions[rows], past)
            then = env.step(state, actions).numpy()
            ended = then["terminated"] | then["truncated"]
            value = output.search_tree.value.numpy()
            decisions.append(Decision(now["current_player"], np.zeros(8, bool), value, value, then["rewards"], ended))
            learned.append(learns)
            books.play(results, then["rewards"], ended)
            following = env.reset(env.step(state, actions)).numpy()
            reached = searched[len(decisions)][0].numpy()
            assert all(np.array_equal(following[key], reached[key]) for key in following)
        last, player = searched[-1][1].search_tree.value.numpy(), searched[-1][0].numpy()["current_player"]
        expected = [
            (env.observe(state).numpy()[row].reshape(-1), output.search_tree.summary()["action_weights"][row],
             target(decisions, row, float(last[row]), int(player[row]), 0.2, t)[decisions[t].player[row]])
            for t, (state, output) in enumerate(searched[:-1])
            for row in range(8)
            if learned[t][row]
        ]  # fmt: skip
        assert 16 < len(expected) < 32
        for k, (seen, _, policy, found) in enumerate(zip(*samples, strict=True)):
            observation, weights, value = expected[k * len(expected) // 32]
            assert (seen == observation).all() and np.allclose(policy, weights, atol=1e-6)
            assert found == pytest.approx(value, abs=1e-4)
        assert trainer.league_metrics() == means(results)
        met |= results.keys()
        trainer.update(samples)
    assert {0, 3} <= met


@pytest.mark.slow
def test_playout_search_has_no_past_selves() -> None:
    """All decisions are learned from while playout search plays, and games that begin with it count for no member."""
    trainer = alphazero(shared_env("tic_tac_toe"), **SETTINGS, playout_share=0.5, playout_simulations=2)
    trainer.join_league()
    assert trainer.league is not None
    for progress, is_counted in ((0.6, True), (0.4, False), (0.6, True)):
        trainer.progress = progress
        for step in range(4):
            trainer.play(step)
        assert np.isfinite(trainer.league.returns).all() == is_counted
        assert bool(trainer.league_metrics()) == is_counted


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINERS)
def test_an_interrupted_run_equals_one_without_a_break(name: str, tmp_path: Path) -> None:
    """The checkpoint has the pool and the returns of the games in play."""
    env, settings = shared_env("kuhn_poker"), {**SETTINGS, "league_steps": 2, "value_scale": 3.0}
    whole = TRAINERS[name](env, **settings)
    whole.run(steps=7, folder=tmp_path / "whole")

    class Interruption(Exception):
        """Error of a callback that ends a run in the middle."""

    def interrupt(trainer: te.train.Trainer, metrics: dict[str, float]) -> None:
        if trainer.steps == 5:
            raise Interruption

    with pytest.raises(Interruption):
        TRAINERS[name](env, **settings).run(steps=7, folder=tmp_path / "part", callbacks=[interrupt])
    again = type(whole).load(tmp_path / "part")
    assert again.steps == 4 and [step for step, _ in again.pool()] == [0, 2]
    again.run(steps=7, folder=tmp_path / "part")
    files = [read_arrays(tmp_path / part / CHECKPOINT, FORMAT)[1] for part in ("whole", "part")]
    assert files[0].keys() == files[1].keys() and files[0]["league.steps"].tolist() == [4, 6]
    assert all(np.array_equal(files[0][key], files[1][key], equal_nan=key == "league.returns") for key in files[0])
    lines = timeless(lines_of(tmp_path / "whole"))
    assert timeless(lines_of(tmp_path / "part")) == lines and any("league_return_2" in line for line in lines)
    with pytest.raises(ValueError, match="has a run with league_steps=2, got 3"):
        TRAINERS[name](env, **settings | {"league_steps": 3}).run(steps=7, folder=tmp_path / "part")


def league(env: te.Env, games: int = 16, **settings: Any) -> League:
    """Return a league without networks."""
    member: Any = SimpleNamespace(evaluate=None, is_capturable=False, assign_weights=lambda arrays: None)
    return League(env, te.train.PPOConfig(num_envs=games, **settings), "CPU", lambda: member)


def test_games_of_the_members() -> None:
    """Members have equally many games, spread over the batch; the learner has every seat equally often."""
    for share, size, games in ((0.25, 4, 256), (0.5, 3, 20), (0.9, 1, 8)):
        made = league(shared_env("tic_tac_toe"), games, league_share=share, league_size=size)
        rows = made.rows.reshape(size, -1)
        assert len({*made.rows.tolist()}) == rows.size == round(share * games / size) * size
        assert np.diff(np.sort(made.rows)).max() - np.diff(np.sort(made.rows)).min() <= 1
        for episode in range(2):
            learns = made.decides(np.zeros(games, np.int32), np.full(games, episode, np.uint32))
            assert np.delete(learns, made.rows).all()
            for member in rows:
                assert abs(learns[member].sum() - (~learns[member]).sum()) <= 1


@pytest.mark.parametrize("name", ["tic_tac_toe", "liars_dice"])
def test_results_of_random_steps(name: str) -> None:
    """Any order of players, rewards at any time and games of any length, for two and for three."""
    env, random = game(name), np.random.default_rng(0)
    made, books, met = league(env, 8, **SETTINGS), Games(env.num_players), set[int]()
    for step in range(39):
        made.add(step, lambda: {})
        books.join([joined for joined, _ in made.pool])
        results: dict[int, list[float]] = {}
        for _ in range(4):
            player, rewards = random.integers(env.num_players, size=8), random.normal(size=(8, env.num_players))
            ended, episode = random.random(8) < 0.3, np.array([*books.episode.values()])
            assert (made.decides(player, episode) == books.learns(player)).all()
            made.record(episode, rewards, ended)
            books.play(results, rewards, ended)
        assert made.metrics() == means(results)
        met |= results.keys()
    assert met == {*range(0, 39, 3)}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"league_share": 0.1},
            r"give each of 4 past selves \(league_size\) a game .* of 16 games \(num_envs\), got 0.1",
        ),
        ({"league_share": 1.0}, ".* leave one for self-play, of 16 games .* got 1.0"),
        ({"league_share": 0.5, "league_size": 17}, "give each of 17 past selves"),
        ({"league_share": 0.5, "name": "2048"}, "be 0 in a game for one, got 0.5 for <Env 2048"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str) -> None:
    env = shared_env(settings.pop("name", "tic_tac_toe"))
    with pytest.raises(ValueError, match=f"^league_share must {message}"):
        league(env, **settings)


def test_a_checkpoint_that_does_not_fit(tmp_path: Path) -> None:
    trainer = ppo(shared_env("kuhn_poker"), **SETTINGS)
    trainer.join_league()
    assert trainer.league is not None
    arrays = trainer.league.arrays()
    for change, message in (
        ({"steps": np.zeros(3)}, "its league has 3 members instead of 2"),
        ({"1.policy.bias": np.zeros(7)}, r"league.1.policy.bias has shape \(7,\) instead of \(2,\)"),
        ({"returns": np.zeros(3)}, r"league.returns has shape \(3,\) instead of \(4,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            trainer.league.restore(arrays | change)
    assert ppo(shared_env("kuhn_poker")).league is None


@pytest.mark.slow
@pytest.mark.extra("torch")
@pytest.mark.parametrize("name", TRAINERS)
def test_networks_of_pytorch_play_as_those_of_tinygrad(name: str) -> None:
    """The same weights, games and past selves give the same losses and results in both libraries."""
    pytest.importorskip("torch")
    from tensor_envs.train.modules import Dense

    env = shared_env("tic_tac_toe")
    tinygrad = TRAINERS[name](env, **SETTINGS)
    other = TRAINERS[name](env, Dense(env, hidden=8), **SETTINGS)
    other.assign_weights(tinygrad.weights())
    results = set[str]()
    for _ in range(7):
        expected = tinygrad.step() | {"seconds": 0}
        assert other.step() | {"seconds": 0} == pytest.approx(expected, rel=1e-3, abs=1e-6)
        results |= expected.keys()
    assert {"league_return_0", "league_return_3"} <= results


@pytest.mark.slow
def test_it_learns_to_beat_a_weak_past_self() -> None:
    """The only member is the network with random weights: results against it go up from those of equals."""
    league: dict[str, Any] = {"league_share": 0.5, "league_size": 1, "league_steps": 10**6}
    config = te.train.PPOConfig(num_envs=128, hidden=32, ratings=0, **league)
    results = list[float]()
    trainer = te.train.PPO(shared_env("tic_tac_toe"), config)
    trainer.run(steps=60, callbacks=[lambda _, metrics: results.append(metrics["league_return_0"])])
    assert abs(np.mean(results[:3])) < 0.25 and np.mean(results[-10:]) > 0.5
