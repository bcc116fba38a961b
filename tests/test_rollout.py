"""Rows taken from a batch, and playouts from copies of rows, compared with plain steps."""

from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor, dtypes

import tensor_envs as te
from tensor_envs._engine.batch_layout import LANES, MAX_BLOCKS
from tensor_envs.envs.rollout import RolloutReset
from tests.games import dice_race
from tests.games.shared import shared_env

TTT = shared_env("tic_tac_toe")
GAMES: list[tuple[str, dict[str, Any]]] = [
    ("tic_tac_toe", {}),
    ("shed", {"cards": 5}),
    ("tensor_stars", {}),
    ("three_will", {"to_win": 1, "max_turns": 70}),
    ("2048", {}),
]


def after(env: te.Env, batch: int, steps: int) -> te.State:
    state = env.init(batch, seed=3)
    for _ in range(steps):
        state = env.step(state, te.agents.uniform(state))
    return state


def rows_of(state: te.State) -> np.ndarray:
    """Return the constants of every row, [B, 5]."""
    return state.buffers.layout.download(state.tensors[1])


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize(("name", "fields"), GAMES)
def test_take_copies_games_with_their_chance(name: str, fields: dict[str, Any]) -> None:
    env = shared_env(name, **fields)
    state, rows = after(env, 12, 4), np.array([11, 0, 0, 7, 3, 11, 5])
    taken = env.take(state, rows)
    before, copied = state.numpy(), taken.numpy()
    for field, values in before.items():
        np.testing.assert_array_equal(copied[field], values[rows], err_msg=field)
    np.testing.assert_array_equal(rows_of(taken), rows_of(state)[rows])
    one, other = env.step(state, te.agents.uniform(state)), env.step(taken, te.agents.uniform(taken))
    np.testing.assert_array_equal(other.rewards.numpy(), one.rewards.numpy()[rows])


def test_take_in_a_jit_and_with_a_tensor() -> None:
    env = TTT
    state, rows = after(env, 8, 2), Tensor([5, 2, 2], dtype=dtypes.int32).realize()

    @te.jit
    def chosen(state: te.State, rows: Tensor) -> te.State:
        return env.take(state, rows)

    for _ in range(3):
        np.testing.assert_array_equal(chosen(state, rows).ply.numpy(), state.ply.numpy()[[5, 2, 2]])
    # Indices in a Tensor are clamped to the batch instead of checked.
    assert rows_of(env.take(state, Tensor([-4, 99], dtype=dtypes.int32).realize()))[:, 2].tolist() == [0, 7]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([0, 8], ValueError, "rows must be in 0..7, got 0 to 8"),
        ([-1], ValueError, "rows must be in 0..7, got -1 to -1"),
        ([0.5], TypeError, "rows must be integers, got dtype float64"),
        (3, ValueError, r"rows must have shape \(N,\), got \(\)"),
        ([[0]], ValueError, r"rows must have shape \(N,\), got \(1, 1\)"),
        (np.zeros(0, int), ValueError, "rows must have one or more entries, got none"),
        ([], ValueError, "rows must have one or more entries, got none"),
        (Tensor([1.0]), TypeError, "rows must be integers"),
    ],
)
def test_take_refuses(rows: Any, error: type[Exception], message: str) -> None:
    env = TTT
    with pytest.raises(error, match=message):
        env.take(env.init(8), rows)


def test_take_needs_one_device() -> None:
    env = TTT
    with pytest.raises(ValueError, match="one device"):
        env.take(env.init(8, device=("CPU:0", "CPU:1")), [0])


# *** playouts ***


def stepwise(env: te.Env, state: te.State, n: int, action: Any, seed: int, limit: int) -> np.ndarray:
    """Compute `te.playout` one step at a time, on copies with the keys of fresh rows of the seed."""
    copies = env.take(state, np.repeat(np.arange(state.batch), n))
    fresh = env.init(copies.batch, seed)
    loaded = env.engine.load(copies.buffers.layout.download(copies.tensors[0]), rows_of(fresh), fresh.device)
    now = te.State(env, env.engine.refresh(loaded))
    returns = np.zeros((copies.batch, env.num_players))
    for i in range(limit):
        now = env.step(now, te.agents.uniform(now) if i or action is None else np.repeat(action, n))
        returns += now.rewards.numpy()
    return returns.reshape(state.batch, n, -1).mean(1)


def check(env: te.Env, batch: int, action: Any) -> np.ndarray:
    state = after(env, batch, 3)
    returns: np.ndarray = te.playout(state, 20, action, seed=9, limit=60).numpy()
    np.testing.assert_allclose(returns, stepwise(env, state, 20, action, 9, 60), atol=1e-6)
    assert returns.any()
    return returns


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize(("name", "fields"), GAMES)
def test_playouts_are_uniform_games_from_the_state(name: str, fields: dict[str, Any]) -> None:
    check(shared_env(name, **fields), 6, None)


@pytest.mark.slow
def test_playouts_of_one_row() -> None:
    """Copies of one row fill whole blocks and pad none."""
    returns, env = check(TTT, 1, None), TTT
    assert not np.array_equal(returns, te.playout(after(env, 1, 3), 20, seed=10).numpy())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "tensor_stars"])
def test_playouts_after_a_given_action(name: str) -> None:
    """An illegal action loses the game, as in a step."""
    env = shared_env(name)
    action = np.linspace(0, env.num_actions - 1, 6).astype(int)
    legal = after(env, 6, 3).legal_action_mask.numpy()[np.arange(6), action]
    returns = check(env, 6, action)
    assert legal.any() and not legal.all() and (np.abs(returns[~legal]) == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tic_tac_toe", "three_will"])
def test_playouts_go_on_to_the_end(name: str) -> None:
    """Without a limit, returns are those of complete games."""
    env = shared_env(name)
    state = env.init(2)
    whole = te.playout(state, 200, seed=4).numpy()
    np.testing.assert_array_equal(whole, te.playout(state, 200, seed=4, limit=5000).numpy())
    np.testing.assert_allclose(whole.sum(1), 0, atol=1e-6)
    assert np.abs(whole).max() > 0


def test_playouts_agree_with_the_exact_value() -> None:
    """Enumeration gives X .5849 and O .2881 of the uniform games of 3x3."""
    env = TTT
    mean = te.playout(env.init(4), 20_000, seed=1).numpy()
    np.testing.assert_allclose(mean, [[0.2968, -0.2968]] * 4, atol=0.02)


@pytest.mark.slow
def test_finished_games_return_nothing() -> None:
    env = TTT
    state = after(env, 16, 9)
    over = (state.terminated | state.truncated).numpy()
    assert over.all() and not te.playout(state, 5).numpy().any()


@pytest.mark.slow
def test_playouts_on_several_devices() -> None:
    env = shared_env("three_will", max_turns=70, to_win=1)
    one = te.playout(env.init(8), 16, seed=2).numpy()
    two = te.playout(env.init(8, device=("CPU:0", "CPU:1")), 16, seed=2).numpy()
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("n", "limit", "message"),
    [(0, 5, "num_playouts must be in 1..1073741823, got 0"), (3, 0, "limit must be in 1..2147483647, got 0")],
)
def test_playout_refuses(n: int, limit: int, message: str) -> None:
    env = TTT
    with pytest.raises(ValueError, match=message):
        te.playout(env.init(2), n, limit=limit)


@pytest.mark.slow
def test_with_and_without_an_action_and_within_a_jit() -> None:
    """Calls with and without an action use separate kernels, and a jit gives the same results."""
    env = TTT
    state = env.init(4, seed=3)
    for _ in range(2):
        state = env.step(state, te.agents.uniform(state))
    action = te.agents.uniform(state)
    without_action, with_action = (te.playout(state, 32, a).numpy() for a in (None, action))
    assert (without_action != with_action).any()
    for a, expected in ((None, without_action), (action, with_action), (None, without_action)):
        assert (te.playout(state, 32, a).numpy() == expected).all()
    inside = te.jit(
        lambda state: (
            te.playout(state, 32),
            te.rollout_from(state, "uniform", 40).returns,
            te.rollout(env, "uniform", 4, 40, seed=9).wins,
        )
    )
    for _ in range(4):
        outside = (
            te.playout(state, 32),
            te.rollout_from(state, "uniform", 40).returns,
            te.rollout(env, "uniform", 4, 40, seed=9).wins,
        )
        for mine, other in zip(inside(state), outside, strict=True):
            assert (mine.numpy() == other.numpy()).all()
        state = env.step(state, te.agents.uniform(state))
    within = te.jit(lambda state: te.rollout_from(state, te.agents.uniform, 2).returns)
    with pytest.raises(RuntimeError, match="a jit cannot capture it"):
        within(state)


LATE = {"declared win", "challenge", "swap"}  # events of three_will that no short game has


@pytest.mark.few("tic_tac_toe-fields0-True")
@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize(("name", "fields"), [*GAMES, ("dice_race", {})])
def test_counts_of_a_rollout_are_those_of_its_steps(name: str, fields: dict[str, Any], resets: bool) -> None:
    """Every decision counts once; the last mover is remembered beyond a reset."""
    env = dice_race.shared() if name == "dice_race" else shared_env(name, **fields)
    batch, steps = 70, 45
    start = after(env, batch, 2)
    autoreset: RolloutReset = "same_step" if resets else "disabled"
    result = te.rollout_from(start, "uniform", steps, autoreset, count_actions=True)
    legal, plies, widths = (np.zeros((batch, env.num_actions), int) for _ in range(3))
    taken = np.zeros((batch, env.num_players, env.num_actions), int)
    turns, last, rows = np.zeros(batch, int), np.full(batch, -1), np.arange(batch)
    events = {name: np.zeros(batch, int) for name in env.spec.events}
    state = env.reset(start) if resets else start
    for _ in range(steps):
        mask, mover = state.legal_action_mask.numpy(), state.current_player.numpy()
        live, action = mask.any(1), te.agents.uniform(state).numpy()
        legal += mask
        taken[rows[live], mover[live], action[live]] += 1
        plies[rows[live], action[live]] += state.ply.numpy()[live]
        widths[rows[live], mask[live].sum(1) - 1] += 1
        turns += live & (mover != last)
        last = np.where(live, mover, last)
        for event, count in env.events(state, action).items():
            events[event] += count.numpy()
        state = env.step(state, action)
        state = env.reset(state) if resets else state
    counted = {"legal_counts": legal, "action_counts": taken, "action_plies": plies, "width_counts": widths}
    for attribute, by_steps in counted.items():
        np.testing.assert_array_equal(getattr(result, attribute).numpy(), by_steps, err_msg=attribute)
    np.testing.assert_array_equal(result.turns.numpy(), turns)
    assert result.event_counts.keys() == events.keys()
    for event, happened in result.event_counts.items():
        np.testing.assert_array_equal(happened.numpy(), events[event])
        assert events[event].any() or event in LATE
    assert name != "dice_race" or len(events) == 2
    np.testing.assert_array_equal(result.state.ply.numpy(), state.ply.numpy())
    assert taken.any((0, 2)).all() and plies.any() and (resets or not env.spec.max_plies or not live.all())


def test_a_rollout_without_resets_stops_with_its_games() -> None:
    """A step of a finished game changes nothing, so more steps than any game has cost nothing."""
    few, many = (te.rollout(TTT, "uniform", 64, steps, autoreset="disabled") for steps in (10, 2**31 - 1))
    np.testing.assert_array_equal(few.state.buffers.words.numpy(), many.state.buffers.words.numpy())


def test_one_thread_plays_every_block() -> None:
    """A batch has as many blocks as a kernel is compiled for; the last one is played as well."""
    before = te.num_threads()
    te.set_num_threads(1)
    try:
        plies = te.rollout(TTT, "uniform", MAX_BLOCKS * LANES, 2).state.ply.numpy()
    finally:
        te.set_num_threads(before)
    assert len(plies) == 2**20 and (plies == 2).all()


# *** a number of games ***

TTT_SHARES = {"first wins": 0.58492, "second wins": 0.28810}  # of the uniform games of 3x3, by enumeration


def shares_of(result: te.Rollout) -> tuple[np.ndarray, int]:
    """Return the shares of games that each player wins, and the number of games."""
    count = int(result.episodes.numpy().sum())
    return result.wins.numpy().sum(0) / count, count


def test_a_number_of_games_counts_each_game_once() -> None:
    """Compare with enumeration within 4 standard errors, which games that are counted in a number of steps exceed."""
    batch, exact = 2**15, np.array([*TTT_SHARES.values()])
    shares, count = shares_of(te.rollout(TTT, "uniform", batch, games=16 * batch, seed=5))
    assert count == 16 * batch
    error = np.sqrt(exact * (1 - exact) / count)
    assert (np.abs(shares - exact) < 4 * error).all()
    draws = 1 - exact.sum()
    assert abs(1 - shares.sum() - draws) < 4 * np.sqrt(draws * (1 - draws) / count)
    biased, count = shares_of(te.rollout(TTT, "uniform", batch, 128, seed=5))
    assert 1 - biased.sum() < draws - 4 * np.sqrt(draws * (1 - draws) / count)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fields"), [*GAMES[:4], ("kuhn_poker", {})])
def test_a_number_of_games_is_played_row_by_row(name: str, fields: dict[str, Any]) -> None:
    """Every row plays its first games to their ends, as single steps do, and waits at the start of the next one."""
    env, batch, games = shared_env(name, **fields), 70, 170
    result = te.rollout(env, "uniform", batch, games=games, seed=4, count_actions=True)
    quotas = games // batch + (np.arange(batch) < games % batch)
    np.testing.assert_array_equal(result.episodes.numpy(), quotas)
    state, rows = env.init(batch, seed=4), np.arange(batch)
    returns, wins, plies = np.zeros((batch, env.num_players)), np.zeros((batch, env.num_players)), np.zeros(batch, int)
    last = state.numpy()
    taken, rewards = np.zeros((batch, env.num_players, env.num_actions), int), last["rewards"].copy()
    while (plays := last["episode"] < quotas).any():
        action = te.agents.uniform(state).numpy()
        taken[rows[plays], last["current_player"][plays], action[plays]] += 1
        state = env.step(state, action)
        now = state.numpy()
        over = (now["terminated"] | now["truncated"])[:, None]
        returns += now["rewards"] * plays[:, None]
        wins += (over & (now["rewards"] > 0)) * plays[:, None]
        rewards = np.where(plays[:, None], now["rewards"], rewards)
        plies += plays
        state = env.reset(state)
        last = state.numpy()
    np.testing.assert_array_equal(result.returns.numpy(), returns)
    np.testing.assert_array_equal(result.wins.numpy(), wins)
    np.testing.assert_array_equal(result.action_counts.numpy(), taken)
    np.testing.assert_array_equal(result.legal_counts.numpy().any(1), plies > 0)
    np.testing.assert_array_equal(result.width_counts.numpy().sum(1), plies)
    np.testing.assert_array_equal(result.state.rewards.numpy(), rewards)
    assert (result.state.ply.numpy() == 0).all() and (result.state.episode.numpy() == quotas).all()
    assert not (result.state.terminated | result.state.truncated).numpy().any() and len(set(plies.tolist())) > 1


@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", ["tic_tac_toe", "shed"])
def test_a_number_of_games_in_any_way(name: str) -> None:
    """A function, shards, shares of the rows and two calls play the same games as one kernel."""
    env = shared_env(name, **dict(GAMES).get(name, {}))
    one = te.rollout(env, "uniform", 6, games=15, seed=2)
    words = one.state.numpy()
    halves = [te.rollout(env, "uniform", 3, games=games, seed=2, first_row=row) for games, row in ((9, 0), (6, 3))]
    for attribute in ("returns", "wins", "episodes"):
        parts = [getattr(half, attribute).numpy() for half in halves]
        np.testing.assert_array_equal(np.concatenate(parts), getattr(one, attribute).numpy())
    for policy, device in ((te.agents.uniform, None), ("uniform", ("CPU:0", "CPU:1"))):
        other = te.rollout(env, policy, 6, games=15, seed=2, device=device)  # type: ignore[arg-type]
        for attribute in ("returns", "wins", "episodes"):
            np.testing.assert_array_equal(getattr(other, attribute).numpy(), getattr(one, attribute).numpy())
        for field, values in other.state.numpy().items():
            np.testing.assert_array_equal(values, words[field], err_msg=field)
    begun = te.rollout(env, "uniform", 6, games=12, seed=2)
    ended = te.rollout_from(begun.state, "uniform", games=3)
    np.testing.assert_array_equal((begun.returns + ended.returns).numpy(), one.returns.numpy())
    np.testing.assert_array_equal(ended.episodes.numpy(), [1, 1, 1, 0, 0, 0])


def test_a_captured_policy_plays_beyond_a_check() -> None:
    """Rows that wait for others longer than `STEPS_PER_CHECK` keep their state."""
    few = te.rollout(TTT, te.agents.uniform, 3, games=31, seed=7)
    one = te.rollout(TTT, "uniform", 3, games=31, seed=7)
    np.testing.assert_array_equal(few.returns.numpy(), one.returns.numpy())
    np.testing.assert_array_equal(few.episodes.numpy(), [11, 10, 10])
    np.testing.assert_array_equal(few.state.buffers.words.numpy(), one.state.buffers.words.numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "steps or games must be given, and only one of them, got None and None"),
        ({"steps": 3, "games": 4}, "steps or games must be given, and only one of them, got 3 and 4"),
        ({"games": 4, "autoreset": "disabled"}, "autoreset must be 'same_step' for a number of games, got 'disabled'"),
        ({"games": 0}, "games must be in 1..2147483647, got 0"),
    ],
)
def test_a_rollout_has_one_length(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        te.rollout(TTT, "uniform", 2, **arguments)
    with pytest.raises(ValueError, match=message):
        te.rollout_from(TTT.init(2), "uniform", **arguments)


def test_counts_need_the_uniform_policy_and_their_option() -> None:
    with pytest.raises(ValueError, match="count_actions must be False except for policy='uniform'"):
        te.rollout(TTT, te.agents.uniform, 4, 2, count_actions=True)
    with pytest.raises(ValueError, match="count_actions must be False except for"):
        te.rollout(shared_env("hyper_tic_tac_toe", shape=(9, 9, 9), k=4), "uniform", 4, 2, count_actions=True)
    with pytest.raises(TypeError, match="count_actions must be of type bool"):
        te.rollout(TTT, "uniform", 4, 2, count_actions=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="count_actions must be True in a call whose decisions are counted"):
        te.rollout(TTT, "uniform", 4, 2).turns  # noqa: B018
