"""Checks of steps: shapes, ends, illegal actions, rows, resets, rollouts, and one kernel for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters

from tensor_envs._engine.kernels.observe import DTYPE_BY_NAME
from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.jitted import jit
from tensor_envs.envs.env import Env
from tensor_envs.envs.interpreter import ScalarGame
from tensor_envs.envs.rollout import rollout
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.envs.vector import VectorEnv
from tensor_envs.testing.conditions import (
    BATCH,
    MAX_STEPS,
    SEED,
    ConformanceError,
    Skipped,
    line_of,
    over,
    playing,
    playing_at,
    require,
    require_equal,
    short,
    waiting,
)
from tensor_envs.testing.plain_python import place_of

MAX_ROUNDS = 10  # episodes of every game after which a player who has not moved never will


def check_shapes(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check shapes and dtypes against the Spec."""
    state = env.init(BATCH, SEED, device)
    spec = env.spec
    expected: dict[str, tuple[Tensor, tuple[int, ...], Any]] = {
        "legal_action_mask": (state.legal_action_mask, (BATCH, spec.num_actions), DTYPE_BY_NAME["bool"]),
        "rewards": (state.rewards, (BATCH, spec.num_players), DTYPE_BY_NAME["float32"]),
        "terminated": (state.terminated, (BATCH,), DTYPE_BY_NAME["bool"]),
        "truncated": (state.truncated, (BATCH,), DTYPE_BY_NAME["bool"]),
        "observation": (env.observe(state), (BATCH, *spec.observation_shape), DTYPE_BY_NAME[spec.observation_dtype]),
    }
    for field in spec.all_fields:
        expected[field.name] = (getattr(state, field.name), (BATCH, *field.shape), field.dtype)
    for name, (view, shape, dtype) in expected.items():
        require(tuple(view.shape) == shape, f"{name} has shape {view.shape}, not {shape}")
        require(view.dtype is dtype, f"{name} has dtype {view.dtype}, not {dtype}")
    stepped = env.step(state, uniform(state))
    for name, column in stepped.numpy().items():
        require((getattr(stepped, name).numpy() == column).all(), f"{name} reads otherwise from state.numpy()")
    values = state.numpy()
    require(not over(values).any() and not values["rewards"].any(), "a new game is over or has paid")
    return f"{len(expected)} properties"


def check_ends(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that games end."""
    env = short(env)
    for plies in (500, MAX_STEPS):
        ended = int(rollout(env, "uniform", BATCH, plies, SEED, device).episodes.numpy().sum())
        if ended:
            return f"{ended} games ended in {plies} steps of {BATCH} games"
    game = ScalarGame(env.rules, SEED)  # a value out of bounds may be the reason, which plain Python finds
    for _ in range(MAX_STEPS // 20):
        with playing_at(place_of(game)):
            game.step(game.uniform_action())
    raise ConformanceError(
        f"no game ended in {MAX_STEPS} plies: {line_of(env, 'step')}: step must set terminated or truncated, or the "
        "Spec max_plies. A game with long episodes needs `short` rule fields in its GameEntry"
    )


def check_play(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check legal actions, rewards and bounds at every ply, and that finished games do not change."""
    env = short(env)
    state = env.init(BATCH, SEED, device)
    ended = 0
    rounds = 1
    moved = set[int]()
    for step in waiting(steps, "no game ended, or a player never moved,"):
        if over(state.numpy()).all() and len(moved) < env.num_players:
            still = sorted({*range(env.num_players)} - moved)
            require(
                rounds < MAX_ROUNDS,
                f"player {still[0]} never moved in {rounds * BATCH} games: {line_of(env, 'step')}: step must set "
                "current_player in s.replace(...)",
            )
            state = env.reset(state)
            rounds = rounds + 1
        before = state.numpy()
        mask = before["legal_action_mask"]
        was_over = over(before)
        require(
            (mask.any(1) == ~was_over).all(),
            f"{line_of(env, 'legal_action_mask')}: legal actions must exist exactly while a game goes on",
        )
        most = int(mask.sum(1).max())
        bound = env.spec.max_legal
        require(
            bound is None or most <= bound,
            f"{line_of(env, 'spec')}: max_legal is {bound}, a position has {most} legal actions",
        )
        players = before["current_player"][~was_over]
        require(((players >= 0) & (players < env.num_players)).all(), "current_player is no player")
        moved |= set(players.tolist())
        actions = uniform(state).numpy()
        require(mask[np.arange(BATCH), actions][~was_over].all(), "the uniform policy chose an illegal action")
        stepped = env.step(state, actions)
        require_equal(before, state.numpy(), "a step must leave the state it starts from as it was")
        after = stepped.numpy()
        rewards = stepped.numpy()["rewards"]
        games = stepped.buffers
        try:
            env.engine.layout.check(games.layout.download(games.words))
        except ValueError as error:
            raise ConformanceError(f"after {step + 1} steps: {error}") from None
        require(not rewards[was_over].any(), "a finished game paid")
        if env.spec.zero_sum:
            require(np.allclose(rewards.sum(1), 0, atol=1e-5), "the rewards of a step do not sum to 0")
        require_equal({**before, "rewards": np.zeros_like(rewards)}, after, "a finished game", rows=was_over)
        require((after["ply"] - before["ply"] == ~was_over).all(), "ply must count the decisions")
        state = stepped
        ended = int(over(after).sum())
        if step + 1 >= steps and ended and len(moved) == env.num_players:
            break
    values = state.numpy()
    limit = env.spec.max_plies
    require(limit is None or (values["ply"] <= limit).all(), "a game went on beyond max_plies")
    return f"{step + 1} steps, {int(values['terminated'].sum())} terminated, {int(values['truncated'].sum())} truncated"


def check_illegal_actions(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that an illegal action ends the game with -1 for its player and changes no field."""
    if env.illegal == "raise":
        raise Skipped('illegal="raise"')
    state = playing(env, 1, device)
    if over(state.numpy()).all():  # rules may end every game with its first action
        state = playing(env, 0, device)
    before = state.numpy()
    mask = before["legal_action_mask"]
    live = ~over(before)
    require(live.any(), "every game is over before its first step")
    illegal = np.array([np.flatnonzero(~row)[0] if not row.all() else env.num_actions for row in mask])
    for actions in (illegal, np.full(BATCH, -1), np.full(BATCH, env.num_actions)):
        changed = env.step(state, actions).numpy()
        for name in env.spec_fields:
            require((changed[name] == before[name]).all(), f"an illegal action changed {name}")
        require(changed["terminated"][live].all(), "an illegal action did not end the game")
        require(not changed["legal_action_mask"].any(), "there are legal actions after an illegal one")
        mover = np.arange(env.num_players) == before["current_player"][:, None]
        expected = np.where(mover, -1.0, 1 / max(env.num_players - 1, 1)) * live[:, None]
        require(np.allclose(changed["rewards"], expected), "wrong rewards for an illegal action")
    return f"{3 * int(live.sum())} illegal actions"


def check_rows(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that a row depends on the seed, its number and its actions alone."""
    large = env.init(2 * BATCH + 1, SEED, device)
    small = env.init(BATCH, SEED, device)
    head = slice(0, BATCH)
    for step in range(min(steps, 12)):
        require_equal(small.numpy(), {k: v[head] for k, v in large.numpy().items()}, "another batch size")
        actions = uniform(large).numpy()
        small = env.step(small, actions[head])
        actions[BATCH:] = -1 if step == 2 else actions[BATCH:]  # the other rows all lose
        large = env.step(large, actions)
    same = env.init(BATCH, SEED, device)
    other = env.init(BATCH, SEED + 1, device)
    require_equal(same.numpy(), env.init(BATCH, SEED, device).numpy(), "one seed, two games")
    if env.spec.chance:
        require((same.key.numpy() != other.key.numpy()).any(), "two seeds, one game")
    return f"{min(steps, 12)} steps of {2 * BATCH + 1} and of {BATCH} games"


def check_jit(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that a step captured by a jit equals a step outside."""

    @jit
    def captured(state: State) -> State:
        return env.step(state, uniform(state))

    for seed in (SEED, SEED + 1):
        inside = outside = env.init(BATCH, seed, device)
        for _ in range(min(steps, 8)):
            inside = captured(inside)
            outside = env.step(outside, uniform(outside))
            require_equal(inside.numpy(), outside.numpy(), "a captured step")
    return f"{2 * min(steps, 8)} captured steps"


def check_autoreset(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check each autoreset mode against steps and resets, and the final states of finished games."""
    env = short(env)
    same_step = VectorEnv(env, BATCH, SEED, device, "same_step", final_states=True)
    next_step, disabled = (VectorEnv(env, BATCH, SEED, device, m) for m in ("next_step", "disabled"))  # type: ignore[arg-type]
    resets = [0, 0, 0]
    for step in waiting(steps, "a mode saw no game end"):
        before = same_step.state
        transition = same_step.step_uniform()
        stepped = env.step(before, transition.actions)
        final = stepped.numpy()
        values = same_step.state.numpy()
        require_equal(final, transition.final_state.numpy(), "final_state")
        reported = {name: getattr(transition, name).numpy() for name in ("rewards", "terminated", "truncated")}
        require_equal(reported, final, "same_step: the transition")
        require_equal(values, {**env.reset(stepped).numpy(), "rewards": final["rewards"]}, "same_step")
        require((values["ply"][over(final)] == 0).all(), "a new episode does not start at ply 0")
        resets[0] += int(over(final).sum())

        before = next_step.state
        ended = over(before.numpy())
        transition = next_step.step_uniform()
        after = transition.final_state.numpy()
        require_equal(after, env.step(before, transition.actions).numpy(), "next_step", rows=~ended)
        require_equal(after, env.reset(before).numpy(), "next_step: a finished game", rows=ended)
        resets[1] += int(ended.sum())

        before = disabled.state
        transition = disabled.step_uniform()
        require_equal(disabled.state.numpy(), env.step(before, transition.actions).numpy(), "disabled")
        resets[2] += int(over(disabled.state.numpy()).sum())
        if step % 4 == 3:
            restarted = env.reset(disabled.state).numpy()
            require_equal(disabled.reset().numpy(), restarted, "reset")
        if step + 1 >= steps and all(resets):
            break
    transition = same_step.step_uniform()
    observed = (transition.final_observation(0).numpy(), env.observe(transition.final_state, 0).numpy())
    require((observed[0] == observed[1]).all(), "final_observation differs")
    return f"{step + 1} steps, resets by mode {resets}"


def check_rollout(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check a rollout in one kernel against single steps, bit for bit."""
    env = short(env)
    vector = VectorEnv(env, BATCH, SEED, device)
    returns = np.zeros((BATCH, env.num_players), np.float32)
    wins = np.zeros_like(returns)
    ended = 0
    events = {name: np.zeros(BATCH, np.int32) for name in env.spec.events}
    for step in waiting(steps, "no game ended"):
        before = vector.state
        reported = vector.step_uniform().numpy()
        for name, event in env.events(before, reported["actions"]).items():
            events[name] += event.numpy()
        returns += reported["rewards"]
        wins += (reported["rewards"] > 0) & over(reported)[:, None]
        ended += int(over(reported).sum())
        if step + 1 >= steps and ended:
            break
    for policy in ("uniform", uniform):
        result = rollout(env, policy, BATCH, step + 1, SEED, device)  # type: ignore[arg-type]
        require_equal(result.state.numpy(), vector.state.numpy(), f"a rollout ({policy})")
        require(np.allclose(result.returns.numpy(), returns), "a rollout's returns")
        require((result.wins.numpy() == wins).all(), "a rollout's wins")
        require((result.episodes.numpy() == vector.state.episode.numpy()).all(), "a rollout's episodes")
    if not events:
        return f"{step + 1} steps, {ended} games ended"
    counts = rollout(env, "uniform", BATCH, step + 1, SEED, device, count_actions=True).event_counts
    require_equal({name: count.numpy() for name, count in counts.items()}, events, "counts of events in a rollout")
    met = ", ".join(name for name, count in events.items() if count.any()) or "none"
    return f"{step + 1} steps, {ended} games ended, events: {met}"


def check_one_kernel(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that a step is one kernel, with sampling, reset, mask and observation."""
    env = short(env)
    actions = np.zeros(BATCH, np.int32)
    bare, observing = (VectorEnv(env, BATCH, SEED, device, observe=observe) for observe in (False, True))
    for step in (bare.step_uniform, lambda: bare.step(actions), observing.step_uniform):
        step()
        before = GlobalCounters.kernel_count
        step()
        require(GlobalCounters.kernel_count - before == 1, "a step is more than one kernel")
    return "1 kernel a step"
