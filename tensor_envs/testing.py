"""The conformance test: what every environment promises, checked on one, your own games included.

`check_env(env)` raises AssertionError with a message for the first promise that is broken.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import GlobalCounters

from tensor_envs.core.env import Env
from tensor_envs.core.jit import jit
from tensor_envs.core.state import State
from tensor_envs.core.vector import VectorEnv
from tensor_envs.policy import random_policy
from tensor_envs.rollout import rollout
from tensor_envs.saving import load_state, save_state

BATCH, SEED = 6, 11
Check = Callable[[Env, int, Any], None]


def check_env(env: Env, steps: int = 40, device: Any = None) -> None:
    """Every check below, over `steps` actions of the uniform policy in a few games."""
    for check in CHECKS:
        check(env, steps, device)


def assert_equal(
    a: dict[str, np.ndarray], b: dict[str, np.ndarray], what: str, rows: Any = slice(None)
) -> None:
    """The same in the given rows."""
    for name in a:
        assert (a[name][rows] == b[name][rows]).all(), f"{what}: {name} differs"


def over(now: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(now["terminated"] | now["truncated"])


def check_shapes(env: Env, steps: int, device: Any) -> None:
    """Shapes, dtypes and the facts of the Spec."""
    state, spec = env.init(BATCH, SEED, device), env.spec
    expected: dict[str, tuple[Tensor, tuple[int, ...], Any]] = {
        "legal_action_mask": (state.legal_action_mask, (BATCH, spec.num_actions), dtypes.bool),
        "current_player": (state.current_player, (BATCH,), dtypes.int32),
        "rewards": (state.rewards, (BATCH, spec.num_players), dtypes.float32),
        "terminated": (state.terminated, (BATCH,), dtypes.bool),
        "truncated": (state.truncated, (BATCH,), dtypes.bool),
        "observation": (env.observe(state), (BATCH, *spec.observation_shape), spec.observation_dtype),
    }
    for field in spec.all_fields:
        expected[field.name] = (getattr(state, field.name), (BATCH, *field.shape), field.dtype)
    for name, (view, shape, dtype) in expected.items():
        assert tuple(view.shape) == shape, f"{name} has shape {view.shape}, not {shape}"
        assert view.dtype is dtype, f"{name} has dtype {view.dtype}, not {dtype}"
    stepped = env.step(state, random_policy(state))
    read = stepped.numpy()
    for name in read:
        assert (getattr(stepped, name).numpy() == read[name]).all(), (
            f"{name} reads otherwise from state.numpy()"
        )
    now = state.numpy()
    assert not over(now).any() and not now["rewards"].any(), "a new game is over or has paid"
    for action in {0, spec.num_actions // 2, spec.num_actions - 1}:
        name = env.action_to_string(action)
        assert env.string_to_action(name) == action, (
            f"the name {name!r} does not lead back to action {action}"
        )


def check_play(env: Env, steps: int, device: Any) -> None:
    """Games that go on have legal actions, those that are over have none and stay as they are; returns sum to 0."""
    state = env.init(BATCH, SEED, device)
    returns = np.zeros((BATCH, env.num_players))
    for _ in range(steps):
        before = state.numpy()
        mask, was_over = before["legal_action_mask"], over(before)
        assert (mask.any(1) == ~was_over).all(), "legal actions must exist exactly while a game goes on"
        players = before["current_player"][~was_over]
        assert ((players >= 0) & (players < env.num_players)).all(), "current_player is no seat"
        actions = random_policy(state).numpy()
        assert mask[np.arange(BATCH), actions][~was_over].all(), "the uniform policy chose an illegal action"
        stepped = env.step(state, actions)
        assert_equal(before, state.numpy(), "a step must leave the state it starts from as it was")
        after = stepped.numpy()
        rewards = after["rewards"]
        returns += rewards
        assert not rewards[was_over].any(), "a finished game paid"
        assert_equal({**before, "rewards": np.zeros_like(rewards)}, after, "a finished game", rows=was_over)
        assert (after["ply"] - before["ply"] == ~was_over).all(), "ply must count the decisions"
        state = stepped
    if env.spec.zero_sum:
        assert np.allclose(returns[over(state.numpy())].sum(1), 0, atol=1e-5), (
            "the returns of a game do not sum to 0"
        )
    limit = env.spec.max_plies
    assert limit is None or (state.numpy()["ply"] <= limit).all(), "a game went on beyond max_plies"


def check_illegal_actions(env: Env, steps: int, device: Any) -> None:
    """An illegal action ends the game, -1 for the mover and 1/(P-1) for every other, and changes nothing else."""
    if env.illegal == "raise":
        return
    state = env.init(BATCH, SEED, device)
    for _ in range(min(steps, 3)):
        state = env.step(state, random_policy(state))
    before = state.numpy()
    mask, live = before["legal_action_mask"], ~over(before)
    illegal = np.array([np.flatnonzero(~row)[0] if not row.all() else env.num_actions for row in mask])
    for actions in (illegal, np.full(BATCH, -1), np.full(BATCH, env.num_actions)):
        changed = env.step(state, actions).numpy()
        for name in env.fields:
            assert (changed[name] == before[name]).all(), f"an illegal action changed {name}"
        assert changed["terminated"][live].all() and not changed["legal_action_mask"].any()
        share = 1 / max(env.num_players - 1, 1)
        mover = np.arange(env.num_players) == before["current_player"][:, None]
        expected = np.where(mover, -1.0, share) * live[:, None]
        assert np.allclose(changed["rewards"], expected), "wrong rewards for an illegal action"


def check_rows(env: Env, steps: int, device: Any) -> None:
    """A row depends on the seed, the row and its actions alone: neither on the batch size nor on other rows."""
    large, small = env.init(2 * BATCH + 1, SEED, device), env.init(BATCH, SEED, device)
    head = slice(0, BATCH)
    for step in range(min(steps, 12)):
        assert_equal(small.numpy(), {k: v[head] for k, v in large.numpy().items()}, "another batch size")
        actions = random_policy(large).numpy()
        small = env.step(small, actions[head])
        actions[BATCH:] = -1 if step == 2 else actions[BATCH:]  # the other rows all lose
        large = env.step(large, actions)
    same, other = env.init(BATCH, SEED, device), env.init(BATCH, SEED + 1, device)
    assert_equal(same.numpy(), env.init(BATCH, SEED, device).numpy(), "one seed, two games")
    if env.spec.chance:
        assert (same.key.numpy() != other.key.numpy()).any(), "two seeds, one game"


def check_jit(env: Env, steps: int, device: Any) -> None:
    """Captured in a caller's jit a step does what it does outside, for states that the capture never saw."""

    @jit
    def captured(state: State) -> State:
        return env.step(state, random_policy(state))

    for seed in (SEED, SEED + 1):
        inside = outside = env.init(BATCH, seed, device)
        for _ in range(min(steps, 8)):
            inside, outside = captured(inside), env.step(outside, random_policy(outside))
            assert_equal(inside.numpy(), outside.numpy(), "a captured step")


def check_autoreset(env: Env, steps: int, device: Any) -> None:
    """Every mode is a step and a restart in its own order; what a finished game ended in can still be seen."""
    same, late, hand = (
        VectorEnv(env, BATCH, SEED, device, mode) for mode in ("same_step", "next_step", "disabled")
    )
    for _ in range(steps):
        before, transition = same.state, same.step_uniform()
        stepped = env.step(before, transition.actions)
        final, now = stepped.numpy(), same.state.numpy()
        assert_equal(final, transition.final_state.numpy(), "final_state")
        told = {name: getattr(transition, name).numpy() for name in ("rewards", "terminated", "truncated")}
        assert_equal(told, final, "same_step: the transition")
        assert_equal(now, {**env.reset(stepped).numpy(), "rewards": final["rewards"]}, "same_step")
        assert (now["ply"][over(final)] == 0).all(), "a new episode does not begin at ply 0"

        before = late.state
        waiting = over(before.numpy())
        transition = late.step_uniform()
        after = transition.final_state.numpy()
        assert_equal(after, env.step(before, transition.actions).numpy(), "next_step", rows=~waiting)
        assert_equal(after, env.reset(before).numpy(), "next_step: a finished game", rows=waiting)

        before, transition = hand.state, hand.step_uniform()
        assert_equal(hand.state.numpy(), env.step(before, transition.actions).numpy(), "disabled")
        restarted = env.reset(hand.state).numpy()
        assert_equal(hand.reset().numpy(), restarted, "reset")
    seen = (transition.final_observation().numpy(), env.observe(transition.final_state).numpy())
    assert (seen[0] == seen[1]).all(), "final_observation differs"


def check_rollout(env: Env, steps: int, device: Any) -> None:
    """A rollout in one kernel ends where as many single steps end, bit for bit, with the same sums."""
    vector = VectorEnv(env, BATCH, SEED, device)
    returns = np.zeros((BATCH, env.num_players), np.float32)
    wins = np.zeros_like(returns)
    for _ in range(steps):
        transition = vector.step_uniform()
        rewards = transition.rewards.numpy()
        returns += rewards
        wins += (rewards > 0) & (transition.terminated.numpy() | transition.truncated.numpy())[:, None]
    for policy in ("uniform", random_policy):
        result = rollout(env, policy, BATCH, steps, SEED, device)
        assert_equal(result.state.numpy(), vector.state.numpy(), "a rollout")
        assert np.allclose(result.returns.numpy(), returns), "a rollout's returns"
        assert (result.wins.numpy() == wins).all(), "a rollout's wins"
        assert (result.episodes.numpy() == vector.state.episode.numpy()).all(), "a rollout's episodes"


def check_dictionaries(env: Env, steps: int, device: Any) -> None:
    """A state and its games as dictionaries, text and SVG say the same; foreign dictionaries are refused."""
    state = env.init(BATCH, SEED, device)
    for _ in range(min(steps, 5)):
        state = env.step(state, random_policy(state))
    games = [env.state_to_dict(state, i) for i in range(BATCH)]
    again = env.state_from_dicts(games, SEED, device)
    assert [env.state_to_dict(again, i) for i in range(BATCH)] == games, "a dictionary changes on its way"
    assert (again.legal_action_mask.numpy() == state.legal_action_mask.numpy()).all(), (
        "another mask from a dictionary"
    )
    assert (env.observe(again, 0).numpy() == env.observe(state, 0).numpy()).all(), "another observation"
    assert env.to_string(state).strip(), "no text"
    assert env.render(state).startswith("<svg"), "no SVG"
    for foreign in ({}, {"no such field": 0}):
        try:
            env.state_from_dicts([foreign], SEED, device)
        except ValueError:
            continue
        raise AssertionError(f"the dictionary {foreign} was taken for a state")


def check_saving(env: Env, steps: int, device: Any) -> None:
    """A saved state loads bit for bit and goes on alike."""
    state = env.step(start := env.init(BATCH, SEED, device), random_policy(start))
    with tempfile.TemporaryDirectory() as folder:
        save_state(state, Path(folder) / "state.safetensors")
        loaded = load_state(Path(folder) / "state.safetensors", device)
    for _ in range(2):
        assert_equal(state.numpy(), loaded.numpy(), "a loaded state")
        state, loaded = env.step(state, random_policy(state)), loaded.env.step(loaded, random_policy(loaded))


def check_symmetries(env: Env, steps: int, device: Any) -> None:
    """A game played through a symmetry is the image of the game: masks, rewards, ends and player 0's observations."""
    for symmetry in islice(env.symmetries(), 1, 9):
        actions = np.array(symmetry.actions)
        back = np.argsort(
            actions
        )  # new[i] = old[map[i]]: the cell that old action a becomes is the i with map[i] = a
        plain = image = env.init(BATCH, SEED, device)
        for _ in range(min(steps, 8)):
            one, two = plain.numpy(), image.numpy()
            mapped = one["legal_action_mask"][:, actions]
            assert (two["legal_action_mask"] == mapped).all(), "a symmetry maps the mask otherwise"
            assert (two["rewards"] == one["rewards"]).all(), "a symmetry changes the rewards"
            assert (over(two) == over(one)).all(), "a symmetry changes the end"
            chosen = random_policy(plain).numpy()
            plain, image = env.step(plain, chosen), env.step(image, back[chosen])
        seen = env.observe(plain, 0).numpy().reshape(BATCH, -1)[:, np.array(symmetry.observation)]
        assert (env.observe(image, 0).numpy().reshape(BATCH, -1) == seen).all(), (
            "a symmetry maps observations otherwise"
        )


def check_one_kernel(env: Env, steps: int, device: Any) -> None:
    """A step with mask, rewards, flags and reset is one kernel, drawn actions included."""
    vector = VectorEnv(env, BATCH, SEED, device)
    actions = vector.step_uniform().actions
    vector.step(actions)
    for step in (vector.step_uniform, lambda: vector.step(actions)):
        before = GlobalCounters.kernel_count
        step()
        assert GlobalCounters.kernel_count - before == 1, "a step is more than one kernel"


CHECKS: tuple[Check, ...] = (
    check_shapes,
    check_play,
    check_illegal_actions,
    check_rows,
    check_jit,
    check_autoreset,
    check_rollout,
    check_dictionaries,
    check_saving,
    check_symmetries,
    check_one_kernel,
)
