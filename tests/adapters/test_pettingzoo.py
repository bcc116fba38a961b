"""PettingZoo's suites for every game agent by agent, and comparison with the core's games."""

import importlib.util
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import tensor_envs as te

pytest.importorskip("pettingzoo")
from gymnasium.error import ResetNeeded
from tinygrad.helpers import GlobalCounters

from tensor_envs.adapters import pettingzoo
from tensor_envs.envs import registry
from tests.games import dice_race, shared

suites = pytest.importorskip("pettingzoo.test")
# PettingZoo's own classic games raise these warnings, unless its lists exempt them.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{message}")
    for message in (
        "Observation is not a NumPy array",  # but a dict with an action mask
        "Observation space for each agent probably should be",
        "Action mask numpy array is all zeros",  # after the end of a game
        "Observation numpy array is all zeros",  # an empty board
        "Observation has more than 3 dimensions",  # qubic
    )
]

SHORT = {"three_will": {"max_turns": 8}, "tensor_equilibrium": {"max_rounds": 2}}  # limits, so that all games end soon
LONG = {"three_will": {}, "tensor_equilibrium": {}, "3 players": {"players": 3}, "4 players": {"players": 4}}
GAMES = [
    pytest.param(*game.values, SHORT.get(str(game.values[0]), {}), id=str(game.values[0]), marks=game.marks)
    for game in shared.GAMES
] + [
    pytest.param(name if name in SHORT else "tensor_equilibrium", fields, id=f"{name}, whole", marks=pytest.mark.slow)
    for name, fields in LONG.items()
]
every_game = pytest.mark.parametrize(("id", "fields"), GAMES)


@pytest.mark.few("tic_tac_toe", "shed", "leduc_poker")
@every_game
def test_api(id: str, fields: dict[str, Any]) -> None:
    env = pettingzoo.env(id, **fields)
    assert env.metadata["name"] == f"{id}_v{env.unwrapped.game.version}"
    suites.api_test(env, num_cycles=40)


@dataclass(frozen=True)
class PaidRace(dice_race.DiceRace):
    """Third-party game that pays each player another amount at every ply."""

    @property
    def spec(self) -> te.Spec:
        return replace(super().spec, zero_sum=False)

    def step(self, s: te.GameState, action: Any, chance: Any) -> te.Outcome:
        outcome = super().step(s, action, chance)
        return te.Outcome(outcome.state, [1, 2, 4], outcome.terminated, events=outcome.events)


@pytest.fixture
def paid_race() -> Iterator[str]:
    te.register(replace(dice_race.GAME, id="paid_race", rules=f"{__name__}:PaidRace"))
    yield "paid_race"
    del registry._entries["paid_race"]


@pytest.mark.slow
def test_api_of_a_third_partys_game_with_rewards_on_the_way(paid_race: str) -> None:
    """An agent's reward is the sum since its last action."""
    suites.api_test(pettingzoo.env(paid_race), num_cycles=40)
    env = pettingzoo.env(paid_race, goal=100)
    env.reset()
    paid = []
    for _ in range(9):
        paid.append(env.last()[1])
        env.step(0)
    begin = int(env.agent_selection[-1])
    turn = [3 * (1, 2, 4)[(begin + k) % 3] for k in range(3)]
    assert paid[3:] == turn * 2


@pytest.mark.few("tic_tac_toe", "shed", "leduc_poker")
@every_game
def test_seeds(id: str, fields: dict[str, Any]) -> None:
    suites.seed_test(partial(pettingzoo.env, id, **fields), num_cycles=20)


@pytest.mark.few("tic_tac_toe", "shed")
@every_game
def test_pictures(id: str, fields: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    suites.render_test(partial(pettingzoo.env, id, **fields), {"svg": lambda picture: picture.startswith("<svg")})
    assert capsys.readouterr().out.count("\n") > 5


def decide(env: Any, rng: np.random.Generator) -> int:
    """Return a random legal action of the agent to move."""
    return int(rng.choice(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])))


def play_both(env: Any, state: te.State, look: Any, plies: int) -> tuple[te.State, dict[str, float]]:
    """Play random actions in both and compare every ply; return the last State and the returns."""
    core, rng, now = state.env, np.random.default_rng(3), state.numpy()
    returns = dict.fromkeys(env.agents, 0.0)
    while not now["terminated"][0] and not now["truncated"][0] and now["ply"][0] < plies:
        mover = env.agents[now["current_player"][0]]
        assert env.agent_selection == mover
        for agent, seen in zip(env.agents, look(state), strict=True):
            observed, where = env.observe(agent), f"{agent}, ply {now['ply'][0]}"
            assert (observed["observation"] == seen.numpy()[0]).all(), where
            assert (observed["action_mask"] == now["legal_action_mask"][0] * (agent == mover)).all(), where
        action = decide(env, rng)
        env.step(action)
        state = core.step(state, [action])
        now = state.numpy()
        assert list(env.rewards.values()) == now["rewards"][0].tolist()
        returns = {agent: returns[agent] + reward for agent, reward in env.rewards.items()}
        for ends, name in ((env.terminations, "terminated"), (env.truncations, "truncated")):
            assert set(ends.values()) == {bool(now[name][0])}
    return state, returns


@pytest.mark.few("leduc_poker")
@every_game
def test_a_game_is_that_of_the_core(id: str, fields: dict[str, Any]) -> None:
    """Masks, observations of all agents, rewards, ends and the next episode's start agree."""
    env, core = pettingzoo.raw_env(id, **fields), te.make(id, **fields)
    look = te.jit(lambda state: [core.observe(state, player) for player in range(core.num_players)])
    env.reset(seed=5)
    state, returns = play_both(env, core.init(1, 5), look, plies=10**6)
    assert not core.spec.zero_sum or sum(returns.values()) == pytest.approx(0, abs=1e-5)
    while env.agents:
        agent = env.agent_selection
        assert not env.observe(agent)["action_mask"].any()
        env.step(None)
        assert agent not in env.agents
    env.reset()
    state, _ = play_both(env, core.reset(state), look, plies=8)
    assert state.numpy()["episode"][0] == 1


@pytest.mark.parametrize("action", [4, -1, 10**6, 2**31, -(2**40), 2**40])
def test_an_illegal_action_ends_the_game(action: int) -> None:
    env = pettingzoo.env("tic_tac_toe")
    env.reset()
    env.step(4)
    env.step(action)
    assert env.rewards == {"player_0": 1, "player_1": -1} and set(env.terminations.values()) == {True}


def test_an_illegal_action_among_three(paid_race: str) -> None:
    env = pettingzoo.env(paid_race)
    env.reset(seed=1)
    mover = env.agent_selection
    env.step(3)
    assert env.rewards == {agent: -1 if agent == mover else 0.5 for agent in env.possible_agents}


def test_illegal_actions_can_be_errors() -> None:
    env = pettingzoo.env("tic_tac_toe", illegal="raise")
    env.reset()
    with pytest.raises(ValueError, match="1 illegal actions"):
        env.step(9)
    env.step(0)
    assert env.agent_selection == "player_1"


def test_max_cycles() -> None:
    """Two cycles of two agents are four decisions."""
    env = pettingzoo.env("gomoku", max_cycles=2)
    env.reset()
    for ply in range(4):
        assert not any(env.truncations.values())
        env.step(ply)
    assert env.truncations == dict.fromkeys(env.possible_agents, True)
    assert not any(env.terminations.values()) and not any(env.rewards.values())
    assert not env.observe(env.agent_selection)["action_mask"].any()
    env.reset()
    for cell in (0, 15, 1, 16):
        env.step(cell)
    won = pettingzoo.env("hyper_tic_tac_toe", shape=(5,), k=2, max_cycles=2)
    won.reset()
    for cell in (0, 2, 4, 3):
        won.step(cell)
    assert set(won.terminations.values()) == {True} and set(won.truncations.values()) == {False}


def test_seeds_and_episodes() -> None:
    env, other = (pettingzoo.env("kuhn_poker") for _ in range(2))

    def key_after_reset(env: Any, seed: int | None = None) -> list[int]:
        env.reset(seed=seed)
        return list(env.unwrapped.game_state.key.numpy()[0])

    keys = [key_after_reset(env, 7), key_after_reset(env), key_after_reset(env)]
    assert [key_after_reset(other, 7), key_after_reset(other), key_after_reset(other)] == keys
    fresh = [key_after_reset(pettingzoo.env("kuhn_poker")) for _ in range(2)]
    assert len({tuple(key) for key in [*keys, *fresh]}) == 5


def test_a_step_is_one_kernel_and_a_look_one_more() -> None:
    env = pettingzoo.raw_env("tic_tac_toe")
    env.reset(seed=0)
    env.step(4)
    env.last()
    for call in (partial(env.step, 0), env.last):
        before = GlobalCounters.kernel_count
        call()
        assert GlobalCounters.kernel_count - before == 1


def test_environments_can_be_pickled() -> None:
    env = pettingzoo.raw_env("tensor_equilibrium", "ansi", players=3, max_cycles=9)
    copy = pickle.loads(pickle.dumps(env))
    assert (copy.game.rules, copy.render_mode, copy.max_cycles) == (env.game.rules, "ansi", 9)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="unknown id 'tictactoe'; did you mean 'tic_tac_toe'"):
        pettingzoo.env("tictactoe")
    with pytest.raises(TypeError, match="no rule field 'shape'"):
        pettingzoo.env("shed", shape=(3, 3))
    with pytest.raises(ValueError, match=r"render_mode must be one of 'human', 'ansi', .*, got 'rgb'"):
        pettingzoo.env("shed", "rgb")
    with pytest.raises(ValueError, match="max_cycles must be in 1"):
        pettingzoo.env("shed", max_cycles=0)
    with pytest.raises(ValueError, match="illegal must be one of"):
        pettingzoo.env("shed", illegal="ignore")
    with pytest.raises(ValueError, match="device 'NOWHERE' cannot be opened"):
        pettingzoo.env("shed", device="NOWHERE")


def test_calls_at_a_wrong_time() -> None:
    env = pettingzoo.raw_env("tic_tac_toe", "ansi")
    for call in (partial(env.step, 0), partial(env.observe, "player_0"), env.render):
        with pytest.raises(ResetNeeded, match=r"no game .*: call reset first"):
            call()
    with pytest.raises(AttributeError, match="agents cannot be accessed before reset"):
        _ = pettingzoo.env("tic_tac_toe").agents
    env.reset()
    for wrong in (None, 1.0, "4"):
        with pytest.raises(TypeError, match="action must be an int"):
            env.step(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="agent must be one of 'player_0', 'player_1', got 'player_2'"):
        env.observe("player_2")
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=-1)
    env.reset()
    env.step(99)
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(0)
    env.step(None)
    env.step(None)
    with pytest.raises(ResetNeeded, match="no game is going on: call reset first"):
        env.step(None)


def test_without_a_render_mode_there_is_a_warning() -> None:
    env = pettingzoo.env("tic_tac_toe")
    env.reset()
    with pytest.warns(UserWarning, match="render needs a render_mode, one of human, ansi"):
        assert env.render() is None


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    spec = importlib.util.spec_from_file_location("again", pettingzoo.__file__)
    assert spec and spec.loader
    with pytest.raises(ImportError, match=r"pip install 'tensor_envs\[pettingzoo\]'"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
