"""A game that a user brings: registered, conforming, and against a plain-Python version of itself."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs.core import registry
from tensor_envs.ops.bits import pack_flags
from tensor_envs.testing import check_env
from tests.core import dice_race
from tests.games.chance import draw, game_key


@pytest.fixture
def env() -> Iterator[te.Env]:
    te.register(dice_race.GAME)
    yield te.make("dice_race")
    del registry._entries["dice_race"]


def test_registered_and_conforming(env: te.Env) -> None:
    assert "dice_race" in te.registered()
    assert env.spec.state_bytes == 3 * 4 + 2 * 4 + 3 + 1 + 3 * 2 + 8
    check_env(env)


def test_states_from_dictionaries(env: te.Env) -> None:
    """The chance of a game is that of its row; what a dictionary must say it must say."""
    first = env.init(3, seed=5)
    games = [env.state_to_dict(first, row) for row in (2, 0, 1)]
    state = env.state_from_dicts(games, seed=5)
    assert (state.key.numpy() == first.key.numpy()).all() and not state.episode.numpy().any()
    del games[1]["rested"], games[1]["current_player"]
    with pytest.raises(ValueError, match="game 1 is no state of 'dice_race': current_player, rested missing"):
        env.state_from_dicts(games)


def test_against_plain_python(env: te.Env) -> None:
    """Scores, signs and words of every width, over whole games with their restarts."""
    batch, seed = 65, 5
    vector = te.VectorEnv(env, batch, seed)
    games = [start(seed, row, 0) for row in range(batch)]
    finished = 0
    for _ in range(90):
        transition = vector.step_uniform()
        actions, rewards = transition.actions.numpy(), transition.rewards.numpy()
        cut, now = transition.truncated.numpy(), vector.state.numpy()
        for row, game in enumerate(games):
            expected = play(game, int(actions[row]))
            assert np.allclose(rewards[row], expected)
            if any(expected) or game["ply"] == 30:
                finished += 1
                assert cut[row] != any(expected)
                games[row] = game = start(seed, row, game["episode"] + 1)
            for name in ("score", "rested", "history", "current_player", "ply", "episode"):
                assert (now[name][row] == game[name]).all(), name
            assert now["change"][row].reshape(-1).tolist() == game["change"]
    assert finished > batch and vector.state.numpy()["change"].min() < 0


def start(seed: int, row: int, episode: int) -> dict[str, Any]:
    key = game_key(seed, row, episode)
    score = [draw(key, seat, 3) for seat in range(3)]
    return {
        "key": key, "score": score, "current_player": draw(key, 3, 3), "rested": False, "change": [0, 0, 0],
        "history": 0, "ply": 0, "episode": episode,
    }  # fmt: skip


def play(game: dict[str, Any], action: int) -> list[float]:
    die = 1 + draw(game["key"], 16 + game["ply"], 6)
    player, bet = game["current_player"], 1 if die % 2 == 0 else -1
    game["score"][player] += (die, 0, bet)[action]
    game["change"][player] = bet if action == 2 else 0
    game["rested"], game["history"] = action == 1, (game["history"] << 4 | die) % 2**64
    game["current_player"], game["ply"] = (player + 1) % 3, game["ply"] + 1
    return [(1.0 if seat == player else -0.5) * (game["score"][player] >= 12) for seat in range(3)]


@dataclass(frozen=True)
class Nim:
    """Take 1 to 3 of a heap in turns; `wrong` says what is wrong with these rules."""

    wrong: str = ""

    @property
    def spec(self) -> te.Spec:
        return te.Spec(2, 3, (1,), (te.Field("left", (), dtypes.int8),), observation_dtype=dtypes.int8)

    def init(self, chance: te.Chance) -> dict[str, Any]:
        return {"lefft": 5} if self.wrong == "field" else {"left": 5}

    def legal_action_mask(self, s: te.GameState) -> Any:
        legal = [s.left > action for action in range(3)]
        return legal if self.wrong == "mask" else pack_flags(legal)

    def step(self, s: te.GameState, action: Any, chance: te.Chance) -> te.Outcome:
        left = s.left - action - 1
        win = left.eq(0).cast(dtypes.int32)
        first = s.current_player.eq(0).where(win, -win)
        rewards = (first,) if self.wrong == "rewards" else (first, -first)
        over = False if self.wrong == "endless" else left.eq(0)
        return te.Outcome(s.replace(left=left, current_player=1 - s.current_player), rewards, over)

    def observe(self, s: te.GameState, player: Tensor) -> Tensor:
        return s.left.reshape(-1, 1)


def nim(wrong: str = "") -> te.Env:
    entry = te.GameEntry("nim", Nim)
    return te.Env(entry, Nim(wrong), "nim")


def test_a_class_and_nothing_else() -> None:
    env = nim()
    values = te.playout(env, env.init(3), n=1000, action=[0, 1, 2]).numpy()[:, 0]
    assert (
        np.abs(values - [1 / 3, 0, 0]).max() < 0.13
    )  # at random, whoever is left with four loses two games of three
    assert te.rollout(env, "uniform", 64, 50).episodes.numpy().min() > 5
    asks: list[Callable[[], object]] = [
        lambda: env.to_string(env.init(1)),
        lambda: env.render(env.init(1)),
        lambda: env.action_to_string(1),
    ]
    for ask in asks:
        with pytest.raises(
            NotImplementedError, match=r"'nim' has no module for this: name a (notation|render)"
        ):
            ask()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("field", "init gives lefft; the fields are current_player, ply, episode, left"),
        (
            "mask",
            "legal_action_mask must give 1 words of 32 actions, uint32, as ops.bits.pack_flags does; got 3",
        ),
        ("rewards", "step must give 2 rewards, one a player, got 1"),
    ],
)
def test_wrong_rules_are_named(wrong: str, message: str) -> None:
    env = nim(wrong)
    with pytest.raises(ValueError, match=message):
        env.step(env.init(2), [0, 0])


def test_plain_values_do_where_they_can() -> None:
    env = nim("endless")
    assert not env.step(env.init(2), [2, 2]).terminated.numpy().any()


def test_rules_are_a_dataclass() -> None:
    for rules in (int, "tests.core.dice_race:NAMES"):
        with pytest.raises(TypeError, match="the rules of 'x' must be a frozen dataclass, got"):
            te.GameEntry("x", rules).load_rules()
