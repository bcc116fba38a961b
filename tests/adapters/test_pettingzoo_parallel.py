"""Tensor (stars) with both agents at once: PettingZoo's suites, and comparison with the sequential game."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensor_envs as te

pytest.importorskip("pettingzoo")
from tensor_envs.adapters.pettingzoo import parallel_env

suites, utils = pytest.importorskip("pettingzoo.test"), pytest.importorskip("pettingzoo.utils")
pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{message}")
    for message in (
        "Observation is not a NumPy array",  # but a dict with an action mask
        "Observation space for each agent probably should be",
        "Action mask numpy array is all zeros",  # once the game is over
    )
]

RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "points and questions": {"points_to_win": 3, "ask_order": "always", "random_colours": True},
    "short": {"max_hands": 1, "reset": "all", "points_to_win": 9},
}
ENDLESS: dict[str, Any] = {"points_to_win": 100}  # no win within a few steps
TURN = 3  # cards of a player
Actions = dict[str, int]


class Ranked(utils.BaseParallelWrapper):  # type: ignore[misc,name-defined]
    """Wrapper whose actions count among the legal ones, since some of PettingZoo's suites ignore the mask."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.seen, infos = self.env.reset(seed=seed, options=options)
        return self.seen, infos

    def step(self, actions: Actions) -> Any:
        legal = {agent: np.flatnonzero(self.seen[agent]["action_mask"]) for agent in actions}
        chosen = {agent: legal[agent][action % len(legal[agent])] for agent, action in actions.items()}
        result = self.env.step(chosen)
        self.seen = result[0]
        return result


def ranked(**fields: Any) -> Ranked:
    return Ranked(parallel_env(**fields))


def decide(seen: dict[str, Any], rng: np.random.Generator) -> Actions:
    return {agent: int(rng.choice(np.flatnonzero(s["action_mask"]))) for agent, s in seen.items()}


@pytest.mark.few("short")
@pytest.mark.parametrize("fields", RULES.values(), ids=RULES)
def test_api(fields: dict[str, Any]) -> None:
    suites.parallel_api_test(parallel_env(**fields), num_cycles=60)


@pytest.mark.slow
def test_api_agent_by_agent() -> None:
    """PettingZoo's conversion alternates between the agents, and each waits for its turn."""
    suites.api_test(utils.parallel_to_aec(parallel_env()), num_cycles=100)


def test_seeds() -> None:
    suites.parallel_seed_test(partial(ranked, random_colours=True))
    first, second = (ranked(random_colours=True) for _ in range(2))
    games = [[env.reset(seed=3)[0]] for env in (first, second)]
    rng = np.random.default_rng(0)
    while first.agents:
        actions = dict(zip(first.agents, rng.integers(99, size=2), strict=True))
        for env, game in zip((first, second), games, strict=True):
            game.append(env.step(actions))
    assert len(games[0]) > 4
    np.testing.assert_equal(games[0], games[1])


@pytest.mark.slow
def test_max_cycles() -> None:
    def agent_by_agent(max_cycles: int) -> Any:
        return utils.parallel_to_aec(ranked(max_cycles=max_cycles, **ENDLESS))

    suites.max_cycles_test(SimpleNamespace(parallel_env=partial(ranked, **ENDLESS), env=agent_by_agent))
    env = parallel_env(max_cycles=1)
    seen, _ = env.reset()
    seen, rewards, terminations, truncations, _ = env.step(dict.fromkeys(env.agents, 0))
    assert set(truncations.values()) == {True} and set(terminations.values()) == {False}
    assert set(rewards.values()) == {0.0} and not any(s["action_mask"].any() for s in seen.values())
    assert env.agents == [] and env.step({}) == ({}, {}, {}, {}, {})
    env.reset()
    assert env.agents == ["player_0", "player_1"]


@pytest.mark.slow
def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    def agent_by_agent(render_mode: str) -> Any:
        return utils.parallel_to_aec(parallel_env(render_mode=render_mode))

    suites.render_test(agent_by_agent, {"svg": lambda picture: picture.startswith("<svg")})
    assert capsys.readouterr().out.count("\n") > 5


def compare(seen: dict[str, Any], views: list[te.State], look: Any, wait: int, where: str) -> None:
    """Check that the agents' observations and masks are those of these States, or `wait`."""
    for player, (agent, state) in enumerate(zip(seen, views, strict=True)):
        now = state.numpy()
        assert (seen[agent]["observation"] == look(state)[player].numpy()[0]).all(), f"{agent}, {where}"
        over = bool(now["terminated"][0] or now["truncated"][0])
        to_move = now["current_player"][0] == player and not over
        legal = np.append(now["legal_action_mask"][0] & to_move, not (to_move or over))
        assert (seen[agent]["action_mask"] == legal).all(), f"{agent}, {where}"
        assert legal[wait] or to_move or over


def played(core: te.Env, state: te.State, actions: list[int]) -> list[te.State]:
    """Return the State and the State after each action."""
    states = [state]
    for action in actions:
        states.append(core.step(states[-1], [action]))
    return states


@pytest.mark.slow
@pytest.mark.parametrize("fields", RULES.values(), ids=RULES)
def test_a_game_is_that_of_the_core(fields: dict[str, Any]) -> None:
    """Turns are played in the rules' order once both agents have chosen, and all observations on the way agree.

    Player 1's k-th look of a turn is compared with the State after player 0's three real cards and his own k.
    """
    env, core, rng = parallel_env(**fields), te.make("tensor_stars", **fields), np.random.default_rng(1)
    look = te.jit(lambda state: [core.observe(state, player) for player in range(2)])
    questions = wins = 0
    for seed in range(4):
        seen, _ = env.reset(seed=seed)
        state, returns = core.init(1, seed), np.zeros(2)
        while env.agents:
            order_asked = state.placed.numpy()[0] == 2 * TURN
            looks, cards = [], []
            for _ in range(1 if order_asked else TURN):
                assert env.agents, "a turn ended before all its cards were placed"
                actions = decide(seen, rng)
                looks.append(seen)
                cards.append(list(actions.values()))
                seen, rewards, terminations, truncations, _ = env.step(actions)
            if order_asked:
                questions += 1
                first = second = [state, core.step(state, [min(cards[0])])]  # `wait` is the largest
            else:
                first = played(core, state, [card for card, _ in cards])
                second = played(core, first[-1], [card for _, card in cards])
            for k, (before, mine, theirs) in enumerate(zip(looks, first, second, strict=False)):
                compare(before, [mine, theirs], look, env.wait, f"seed {seed}, decision {k}")
            state = second[-1]
            now = state.numpy()
            assert list(rewards.values()) == now["rewards"][0].tolist()
            for ends, name in ((terminations, "terminated"), (truncations, "truncated")):
                assert set(ends.values()) == {bool(now[name][0])}
            assert bool(env.agents) != bool(now["terminated"][0] or now["truncated"][0])
            returns += list(rewards.values())
        compare(seen, [state, state], look, env.wait, f"seed {seed}, the end")
        assert returns.sum() == 0
        wins += bool(returns.any())
    assert questions >= 1
    assert wins == (0 if "max_hands" in fields else 4)


@pytest.mark.parametrize(
    ("actions", "rewards"),
    [((12, 0), (-1, 1)), ((0, 11), (1, -1)), ((-1, 13), (0, 0)), ((10, 12), (0, 0)), ((2**40, 1), (-1, 1))],
)
def test_illegal_actions_end_the_game(actions: tuple[int, int], rewards: tuple[float, float]) -> None:
    """Orders and `wait` are illegal where a card must be placed, like numbers out of range."""
    env = parallel_env()
    assert env.wait == 12
    env.reset()
    chosen = dict(zip(env.agents, actions, strict=True))
    seen, paid, terminations, truncations, _ = env.step(chosen)
    assert tuple(paid.values()) == rewards
    assert set(terminations.values()) == {True} and set(truncations.values()) == {False}
    assert env.agents == [] and not any(s["action_mask"].any() for s in seen.values())
    strict = parallel_env(illegal="raise")
    strict.reset()
    with pytest.raises(ValueError, match="illegal actions"):
        strict.step(chosen)
    assert strict.step({"player_0": 0, "player_1": 0})[2] == {"player_0": False, "player_1": False}


@pytest.mark.slow
def test_an_agent_without_a_choice_must_wait() -> None:
    """Only one agent is asked for an order; an action of the other is illegal."""
    env, rng = parallel_env(ask_order="always", **ENDLESS), np.random.default_rng(0)
    seen, _ = env.reset()
    while not any(s["action_mask"][env.wait] for s in seen.values()):
        seen = env.step(decide(seen, rng))[0]
    waiting = next(agent for agent, s in seen.items() if s["action_mask"][env.wait])
    chooser = next(agent for agent in seen if agent != waiting)
    assert np.flatnonzero(seen[waiting]["action_mask"]).tolist() == [env.wait]
    assert np.flatnonzero(seen[chooser]["action_mask"]).tolist() == [10, 11]
    rewards = env.step({waiting: 10, chooser: 10})[1]
    assert rewards == {waiting: -1, chooser: 1}


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="the turns of 'tic_tac_toe' are sequential: use env"):
        parallel_env("tic_tac_toe")
    env = parallel_env()
    with pytest.raises(ValueError, match=r"actions must be for the agents \[\], got some for \['player_0'\]"):
        env.step({"player_0": 0})
    env.reset()
    with pytest.raises(TypeError, match="actions must be of type dict"):
        env.step([0, 0])  # type: ignore[arg-type]
    for wrong in ({}, {"player_0": 0}, {"player_0": 0, "player_1": 0, "player_2": 0}):
        with pytest.raises(ValueError, match="actions must be for the agents"):
            env.step(wrong)
    with pytest.raises(TypeError, match="action must be an int"):
        env.step({"player_0": 0, "player_1": None})  # type: ignore[dict-item]
