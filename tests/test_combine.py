"""Combined states: every game continues with its own chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import GlobalCounters

import tensor_envs as te
from tests.games.shared import shared_env


def states(name: str) -> tuple[te.Env, te.State, te.State]:
    env = shared_env(name)
    a, b = env.init(5, seed=1), env.init(3, seed=2)
    for _ in range(2):
        a = env.step(a, te.agents.uniform(a))
    return env, a, env.step(b, te.agents.uniform(b))


def words(state: te.State) -> list[np.ndarray]:
    """Return words and random keys of every game."""
    return [state.buffers.layout.download(t) for t in state.tensors]


def follow(state: te.State) -> list[np.ndarray]:
    """Return the words after two more actions of the uniform policy."""
    for _ in range(2):
        state = state.env.step(state, te.agents.uniform(state))
    return words(state)


def same(state: te.State, wanted: list[tuple[te.State, int]]) -> None:
    """Check that the games are these rows of other states, now and two actions later."""
    for look in (words, follow):
        actual, rows = look(state), [[column[row] for column in look(other)] for other, row in wanted]
        for k, column in enumerate(actual):
            assert (column == np.stack([row[k] for row in rows])).all()


# plain numbers; chance; several words; memory fields
@pytest.mark.few("tic_tac_toe")
@pytest.mark.parametrize("name", ["tic_tac_toe", "shed", "tensor_stars", "hyper_tic_tac_toe"])
def test_put_concat_where_and_rows(name: str) -> None:
    env, a, b = states(name)
    same(env.put(a, [4, 0, 2], b), [(b, 1), (a, 1), (b, 2), (a, 3), (b, 0)])
    same(te.concat([b, a, b]), [(b, r) for r in range(3)] + [(a, r) for r in range(5)] + [(b, r) for r in range(3)])
    mask = np.array([True, False, False, True, False])
    other = a[[0, 0, 1, 1, 2]]
    for condition in (mask, mask.tolist(), Tensor(mask).realize()):
        same(te.where(condition, a, other), [(a, 0), (a, 0), (a, 1), (a, 3), (a, 2)])
    same(a[-1], [(a, 4)])
    same(a[1:4:2], [(a, 1), (a, 3)])
    same(a[mask], [(a, 0), (a, 3)])
    same(a[Tensor(np.array([3, 3], np.int32)).realize()], [(a, 3), (a, 3)])


def test_a_large_batch_is_put_together_in_one_kernel() -> None:
    env = shared_env("tic_tac_toe")
    a, b = env.init(1000), env.step(env.init(300), [4] * 300)
    calls: list[Callable[[], te.State]] = [lambda: te.concat([a, b]), lambda: env.put(a, np.arange(300) * 2, b)]
    for call in calls:
        call()
        before = GlobalCounters.kernel_count
        state = call()
        assert GlobalCounters.kernel_count == before + 1
        assert state.ply.numpy().sum() == 300


def test_memory_fields_are_put_together() -> None:
    env = te.make("hyper_tic_tac_toe", shape=(40, 40), k=5)
    assert env.engine.game.has_memory
    a, b = env.init(3), env.step(env.init(2), [7, 9])
    state = env.put(a, [2, 0], b)
    assert (state.numpy()["ply"] == [1, 0, 1]).all()
    assert (~state.legal_action_mask.numpy()[[2, 0]]).nonzero()[1].tolist() == [7, 9]


def other_env() -> te.State:
    return shared_env("shed").init(2)


def strict() -> te.State:
    return te.make("tic_tac_toe", illegal="raise").init(3)


DIFFER = r"must be of an environment with illegal='lose' as the first state is, got illegal='raise'"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e, a, b: e.put(a, [0, 1, 2], strict()), f"other {DIFFER}"),
        (lambda e, a, b: te.concat([a, b, strict()]), rf"states\[2\] {DIFFER}"),
        (lambda e, a, b: te.where([True] * 3, b, strict()), f"b {DIFFER}"),
        (lambda e, a, b: e.put(a, [1, 1, 2], b), "rows must be different"),
        (lambda e, a, b: e.put(a, [1, 5, 2], b), r"rows must be in 0\.\.4"),
        (lambda e, a, b: e.put(a, [1, 2], b), "other must have a game for each of the 2 rows, got 3"),
        (lambda e, a, b: e.put(a, [1, 2], other_env()), "belongs to"),
        (lambda e, a, b: e.put(a, [1, 2, 3], 5), "other must be of type State"),
        (lambda e, a, b: e.put(a, [0], e.init(1, device="CPU:1")), "other must be on CPU"),
        (lambda e, a, b: te.concat([]), "states must be one or more"),
        (lambda e, a, b: te.concat(cast(Any, a)), "states must be a list"),
        (lambda e, a, b: te.concat([a, cast(Any, 5)]), r"states\[1\] must be of type State"),
        (lambda e, a, b: te.concat([a, other_env()]), "belongs to"),
        (lambda e, a, b: te.concat([e.init(2, device=("CPU:0", "CPU:1"))]), "one device"),
        (lambda e, a, b: te.where([True] * 5, a, b), "b must have 5 games"),
        (lambda e, a, b: te.where([True] * 3, b, other_env()), "belongs to"),
        (lambda e, a, b: te.where([1] * 5, a, a), "mask must be bool"),
        (lambda e, a, b: te.where([True] * 4, a, a), r"mask must have shape \(5,\)"),
        (
            lambda e, a, b: te.where([True] * 5, cast(Any, 1), a),
            r"a must be a State \(tensor_envs\.rules\.where chooses",
        ),
    ],
)
def test_incompatible_states_are_refused(call: Any, message: str) -> None:
    env, a, b = states("tic_tac_toe")
    with pytest.raises((ValueError, TypeError), match=message):
        call(env, a, b)


def test_rows_beyond_the_batch_are_refused() -> None:
    _, a, _ = states("tic_tac_toe")
    for rows in (5, [-6], np.ones(4, bool)):
        with pytest.raises(IndexError, match=r"is out of bounds for axis 0|boolean index did not match"):
            a[rows]
    empty: list[Any] = [slice(5, None), [], np.zeros(0, bool)]
    for none in empty:
        with pytest.raises(ValueError, match="rows must have one or more entries, got none"):
            a[none]


def test_a_tensor_of_bool_takes_games() -> None:
    env, a, _ = states("tic_tac_toe")
    mask = Tensor([True, False, False, True, True])
    taken = [env.state_to_dict(a[mask], row) for row in range(3)]
    assert taken == [env.state_to_dict(a, row) for row in (0, 3, 4)] and a[mask].batch == 3


@pytest.mark.parametrize("rows", [1.0, None, "0", ..., [0.5], [None]])
def test_rows_of_another_type_are_refused(rows: Any) -> None:
    _, a, _ = states("tic_tac_toe")
    with pytest.raises(TypeError, match=r"rows must be integers, a slice or a bool \[B\], got"):
        a[rows]
