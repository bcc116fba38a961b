"""Searches with networks of NumPy, PyTorch and JAX are those of the same network in tinygrad, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import Context, GlobalCounters

import tensor_envs as te
from tensor_envs._runtime.threads import NativeLaunch
from tensor_envs.search.outputs import HostEvaluation
from tests.games.shared import shared_env
from tests.search.test_tree_search import played

LIBRARIES = ["numpy", *(pytest.param(name, marks=pytest.mark.extra(name)) for name in ("torch", "jax"))]
SEARCHES = (te.search.gumbel_muzero_policy, te.search.muzero_policy)
SIMULATIONS = 9


def values_of(env: te.Env) -> int:
    return 1 if env.num_players == 1 or (env.num_players == 2 and env.spec.zero_sum) else env.num_players


def weights(env: te.Env) -> np.ndarray:
    """Return a layer whose products with bits have no rounding errors: all libraries give the same numbers."""
    inputs = int(np.prod(env.observation_shape))
    return np.random.default_rng(1).integers(-8, 9, (inputs, env.num_actions + values_of(env))).astype(np.float32) / 16


def network(library: str, env: te.Env) -> Callable[[te.State], tuple[Any, Any]]:
    """Return a network of one layer; in games that observe numbers it reads whether they are positive."""
    layer, actions = weights(env), env.num_actions

    def parts(out: Any) -> tuple[Any, Any]:
        return out[:, :actions], out[:, actions] / 64 if values_of(env) == 1 else out[:, actions:] / 64

    if library == "tinygrad":
        matrix = Tensor(layer).realize()
        return lambda state: parts((env.observe(state).flatten(1) > 0).float() @ matrix)
    if library == "numpy":
        return lambda state: parts(seen(env, state).astype(np.float32) @ layer)
    module = importlib.import_module(library)
    if library == "jax":
        forward = module.jit(lambda x: parts(x.astype(np.float32) @ layer))
        return lambda state: forward(seen(env, state))
    module.set_num_threads(1)
    matrix = module.from_numpy(layer)
    return lambda state: parts((te.to_torch(env.observe(state)).flatten(1) > 0).float() @ matrix)


def seen(env: te.Env, state: te.State) -> np.ndarray:
    return te.to_numpy(env.observe(state), copy=False).reshape(state.batch, -1) > 0


def changed(evaluate: Callable[..., Any], change: Callable[..., Any]) -> Callable[[te.State], Any]:
    return lambda state: change(*evaluate(state))


def results(output: te.search.SearchOutput) -> dict[str, np.ndarray]:
    return output.search_tree.summary() | {"action": output.action.numpy()}


def assert_equal(one: te.search.SearchOutput, two: te.search.SearchOutput) -> None:
    numbers = results(one), results(two)
    for key, value in numbers[0].items():
        assert (value == numbers[1][key]).all(), key


# 2048: chance and values of one player; Kuhn poker: hidden cards; both replay simulations
@pytest.mark.few("numpy-kuhn_poker", "torch-kuhn_poker", "jax-kuhn_poker")
@pytest.mark.parametrize("name", ["tic_tac_toe", "kuhn_poker", "connect_four", "backgammon", "2048", "three_will"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_it_is_the_search_of_the_same_network_in_tinygrad(library: str, name: str) -> None:
    env = shared_env(name)
    state = played(env, 300 if name == "tic_tac_toe" else 70, 2)  # in one chunk, or in two
    for search in SEARCHES[: 1 if name == "kuhn_poker" else 2]:
        wanted = search(state, network("tinygrad", env), SIMULATIONS, seed=3)
        assert_equal(wanted, search(state, network(library, env), SIMULATIONS, seed=3))
        visits = wanted.search_tree.visit_counts.numpy()
        assert visits.std() > 0 and len({tuple(row) for row in visits.tolist()}) > 2


@pytest.mark.slow
def test_a_tree_is_resumed() -> None:
    env = shared_env("tic_tac_toe")
    state, evaluate = played(env, 300, 1), network("numpy", env)
    options: dict[str, Any] = {"dirichlet_fraction": 0.0, "temperature": 0.0}
    first = te.search.muzero_policy(state, evaluate, 7, keep_tree=True, **options)
    both = te.search.muzero_policy(state, evaluate, 9, tree=first.search_tree, keep_tree=True, **options)
    assert_equal(both, te.search.muzero_policy(state, network("tinygrad", env), 16, **options))


@pytest.mark.slow
def test_several_devices() -> None:
    env = shared_env("tic_tac_toe")

    def evaluate(state: te.State) -> tuple[np.ndarray, np.ndarray]:
        bits = te.to_numpy(env.observe(state)).reshape(state.batch, 2, 9).astype(np.float32)
        return bits[:, 0] - bits[:, 1], bits[:, 0, 4] - bits[:, 1, 4]

    devices: list[Any] = ["CPU", ("CPU:0", "CPU:1")]
    outputs = [te.search.gumbel_muzero_policy(env.init(130, device=d), evaluate, SIMULATIONS) for d in devices]
    assert_equal(*outputs)


def test_leaves_are_handed_over_without_copies_by_one_launch() -> None:
    env = shared_env("tic_tac_toe")
    state, counts, addresses = played(env, 64, 2), list[int](), set[int]()

    def evaluate(leaves: te.State) -> tuple[np.ndarray, np.ndarray]:
        counts.append(GlobalCounters.kernel_count)
        bits, mask = (te.to_numpy(x, copy=False) for x in (env.observe(leaves), leaves.legal_action_mask))
        addresses.add(bits.ctypes.data)
        return mask.astype(np.float32), bits.reshape(64, -1).mean(1, dtype=np.float64)

    for _ in range(2):
        counts.clear()
        te.search.gumbel_muzero_policy(state, evaluate, SIMULATIONS)
    assert len(counts) == SIMULATIONS + 1 and len(addresses) == 1
    assert set(np.diff(counts)) == {2}  # one launch expands, backs up and selects, one writes what is observed


@pytest.mark.cpu
def test_kernels_read_the_outputs_of_a_network_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last leaves' outputs are copied, which the search's last kernel reads; others if they must be."""
    env = shared_env("tic_tac_toe")
    written = list[int]()
    write = HostEvaluation._write

    def counted(self: HostEvaluation, number: int, x: Any) -> None:
        written.append(number)
        write(self, number, x)

    def search(dtype: type, step: int) -> te.search.SearchOutput:
        def evaluate(leaves: te.State) -> tuple[np.ndarray, np.ndarray]:
            seen = te.to_numpy(env.observe(leaves)).reshape(64, -1)[:, :9]
            wide: np.ndarray = np.repeat(seen.astype(dtype), step, axis=1)
            return wide[:, ::step], wide[:, 0].copy()

        return te.search.gumbel_muzero_policy(played(env, 64, 2), evaluate, SIMULATIONS)

    monkeypatch.setattr(HostEvaluation, "_write", counted)
    outputs = []
    for dtype, step, copied in ((np.float32, 1, []), (np.float32, 2, [0]), (np.float16, 1, [0, 1])):
        written.clear()
        outputs.append(search(dtype, step))
        assert written == [*copied * SIMULATIONS, 0, 1]
    assert_equal(*outputs[:2])
    assert_equal(*outputs[1:])


@pytest.mark.cpu
def test_simulations_are_few_native_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the network is captured, one call runs the programs of sixteen simulations, with the same results."""
    env = shared_env("tic_tac_toe")
    evaluate, state = network("tinygrad", env), played(env, 64, 2)
    launch, programs, outputs = NativeLaunch.__call__, list[int](), list[te.search.SearchOutput]()

    def counted(self: NativeLaunch, *external: int) -> None:
        programs.append(self.count)
        launch(self, *external)

    monkeypatch.setattr(NativeLaunch, "__call__", counted)
    for _ in range(3):
        programs.clear()
        outputs.append(te.search.gumbel_muzero_policy(state, evaluate, 40))
    assert_equal(outputs[0], outputs[2])
    joined = [count for count in programs if count > max(programs) // 4]
    assert len(programs) < 10 and joined == [joined[0], joined[0], joined[0] // 2], "16, 16 and 8 simulations"
    assert joined[0] % 16 == 0


@pytest.mark.slow
def test_leaves_are_states() -> None:
    """What `evaluate` gets has the properties of other states; a copy outlives the call."""
    env = shared_env("kuhn_poker")
    copies = list[tuple[te.State, np.ndarray, np.ndarray]]()

    def evaluate(leaves: te.State) -> tuple[np.ndarray, np.ndarray]:
        observation, mask = (te.to_numpy(x, copy=True) for x in (env.observe(leaves), leaves.legal_action_mask))
        assert (leaves.numpy()["legal_action_mask"] == mask).all()
        copies.append((env.take(leaves, np.arange(leaves.batch)), observation, mask))
        other = env.observe(leaves, 1 - leaves.current_player)
        assert (te.to_numpy(other) == te.to_numpy(env.observe(copies[-1][0], 1 - leaves.current_player))).all()
        return np.zeros((leaves.batch, env.num_actions), np.float16), np.zeros(leaves.batch, np.float64)

    te.search.gumbel_muzero_policy(env.init(8), evaluate, 4)
    assert len({observation.tobytes() for _, observation, _ in copies}) > 2
    for copy, observation, mask in copies:
        assert (te.to_numpy(env.observe(copy)) == observation).all()
        assert (te.to_numpy(copy.legal_action_mask) == mask).all()


def test_a_network_that_caches_cannot_take() -> None:
    @dataclass
    class Network:
        value: float

        def __call__(self, state: te.State) -> Any:
            return np.zeros((state.batch, 9), np.float32), np.full(state.batch, self.value, np.float32)

    state = te.make("tic_tac_toe").init(2)
    for search in SEARCHES:
        with pytest.raises(TypeError, match=r"evaluate must be hashable, got .*: a dataclass needs eq=False"):
            search(state, Network(0.5), num_simulations=4)
        with pytest.raises(TypeError, match="evaluate must be a function, got None"):
            search(state, None, num_simulations=4)  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_finished_game_needs_no_finite_output() -> None:
    """A softmax over no legal action is NaN."""
    env = shared_env("tic_tac_toe")
    right, state = network("numpy", env), played(env, 32, 7)

    def evaluate(state: te.State) -> Any:
        over, (logits, values) = state.numpy()["terminated"], right(state)
        return np.where(over[:, None], np.nan, logits), np.where(over, np.nan, values)

    assert state.terminated.numpy().any()
    for search in SEARCHES:
        assert_equal(search(state, evaluate, 20), search(state, right, 20))


@pytest.mark.slow
def test_a_search_within_a_search() -> None:
    """An evaluation may search in turn, with the same sizes, whether or not it has read the games before."""
    env = shared_env("tic_tac_toe")
    state, right = env.init(4), network("numpy", env)
    for reads in (False, True):

        def teach(state: te.State, reads: bool = reads) -> Any:
            if reads:
                te.to_numpy(env.observe(state))
            te.search.gumbel_muzero_policy(state, right, SIMULATIONS)
            te.search.playout_policy(state, SIMULATIONS)
            return right(state)

        assert_equal(*(te.search.gumbel_muzero_policy(state, f, SIMULATIONS) for f in (teach, right)))


@pytest.mark.slow
def test_an_evaluation_may_read_values_and_return_tensors() -> None:
    """It may read its games in Python, or step games of its own, whichever arrays it returns."""
    env = shared_env("tic_tac_toe")
    state, right, vector = env.init(4), network("numpy", env), te.VectorEnv(env, 2)

    def reads(state: te.State) -> Any:
        state.legal_action_mask.sum(1).numpy()
        return tuple(map(Tensor, right(state)))

    def exports(state: te.State) -> Any:
        return tuple(map(Tensor, right(state)))

    def steps(state: te.State) -> Any:
        vector.step_uniform()
        return right(state)

    for k, other in enumerate((reads, exports, steps, lambda s: tuple(map(Tensor, steps(s))))):
        search = SEARCHES[k % 2]
        assert_equal(*(search(state, f, SIMULATIONS) for f in (other, right)))


@pytest.mark.few("torch")
@pytest.mark.extra("torch")
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_agents_take_networks_of_other_libraries(library: str) -> None:
    """Another batch and a network that reads values lead to the same answers."""
    env = shared_env("tic_tac_toe")
    own, other = (network(name, env) for name in ("tinygrad", library))

    def reads(state: te.State) -> Any:
        state.legal_action_mask.sum(1).numpy()
        return own(state)

    for batch in (5, 5, 3):
        state = played(env, batch, 3)
        for make in (te.agents.greedy, te.agents.softmax):
            first, *rest = (te.to_numpy(make(f)(state)) for f in (own, other, reads))
            assert all(np.allclose(first, found, atol=1e-6) for found in rest)
    policy = te.agents.greedy(reads)
    assert [policy(state).tolist() for _ in range(3)] == [policy(state).tolist()] * 3
    with pytest.raises(RuntimeError, match="a jit cannot capture"):
        te.jit(lambda s: te.agents.greedy(network("numpy", env))(s))(state)


@pytest.mark.slow
def test_training_is_captured_apart() -> None:
    """Dropout stops once tinygrad does not train."""
    env = shared_env("tic_tac_toe")
    state, right = played(env, 8, 3), network("tinygrad", env)
    evaluate = changed(right, lambda x, v: (x.dropout(0.5), v))
    with Context(TRAINING=1):  # type: ignore[no-untyped-call]
        te.search.gumbel_muzero_policy(state, evaluate, SIMULATIONS)
    assert_equal(*(te.search.gumbel_muzero_policy(state, f, SIMULATIONS) for f in (evaluate, right)))


def test_wrong_outputs() -> None:
    env = shared_env("tic_tac_toe")
    state, right = env.init(4), network("numpy", env)
    calls = list[int]()

    def later(change: Callable[..., Any]) -> Callable[..., Any]:
        """Return a change of the outputs from the third call on: those of the first two decide what is expected."""

        def third(*output: np.ndarray) -> Any:
            calls.append(1)
            return change(*output) if len(calls) > 2 else output

        return third

    cases: list[tuple[type[Exception], str, Callable[..., Any]]] = [
        (TypeError, "two arrays, logits and values, .* got None", lambda x, v: None),
        (TypeError, "two arrays", lambda x, v: [x, v]),
        (TypeError, "two arrays", lambda x, v: (x, v, v)),
        (TypeError, "two arrays", lambda x, v: (x.tolist(), v.tolist())),
        (TypeError, "two arrays", lambda x, v: (x, Tensor(v))),
        (TypeError, "logits of a float dtype, got int64", lambda x, v: (x.astype(np.int64), v)),
        (TypeError, "values of a float dtype, got complex64", lambda x, v: (x, v.astype(np.complex64))),
        (ValueError, r"logits \[B, A\] = \(4, 9\), got \(4, 3\)", lambda x, v: (x[:, :3], v)),
        (ValueError, r"values of shape \(4, 2\) or \(4,\), got \(4, 1\)", lambda x, v: (x, v[:, None])),
        (ValueError, "finite numbers, .* got others in the searches of 4 games", lambda x, v: (x * np.nan, v)),
        (ValueError, "finite numbers", lambda x, v: (x, v - np.inf)),
        (ValueError, r"values of at most 1e\+30 in magnitude", lambda x, v: (x, v * 0 - np.float32(3e38))),
        (
            TypeError,
            "arrays of NumPy as in its first call, got some of tiny",
            later(lambda *xs: tuple(map(Tensor, xs))),
        ),
        (ValueError, r"\(4,\) as in its first call, got \(4, 2\)", later(lambda x, v: (x, np.stack([v, -v], 1)))),
        (ValueError, r"logits \[B, A\]", later(lambda x, v: (x[:2], v))),
        (ValueError, "finite numbers", later(lambda x, v: (x, v * np.nan))),
        (ValueError, "finite numbers", later(lambda x, v: (x * np.nan, v))),
        (ValueError, "logits on CPU as the games are, got CPU:1", lambda *xs: tuple(Tensor(x).to("CPU:1") for x in xs)),
    ]
    for error, message, change in cases:
        calls.clear()
        with pytest.raises(error, match=f"evaluate must .*{message}"):
            te.search.gumbel_muzero_policy(state, changed(right, change), 3)
    with pytest.raises(error, match=f"evaluate must .*{message}"):
        te.search.muzero_policy(state, changed(right, change), 3)


@pytest.mark.extra("torch")
def test_wrong_outputs_of_torch() -> None:
    torch = importlib.import_module("torch")
    env = shared_env("tic_tac_toe")
    state, right = env.init(4), network("torch", env)
    cases: list[tuple[type[Exception], str, Callable[..., Any]]] = [
        (
            ValueError,
            r"logits without grad: decorate it with @torch.inference_mode",
            lambda x, v: (x.requires_grad_(), v),
        ),
        (ValueError, r"values strided and on cpu, got torch.strided on meta", lambda x, v: (x, v.to("meta"))),
        (ValueError, r"logits strided and on cpu, got torch.sparse_coo on cpu", lambda x, v: (x.to_sparse(), v)),
        (TypeError, "values of a float dtype, got torch.int32", lambda x, v: (x, v.int())),
        (TypeError, "two arrays", lambda x, v: (x, v.numpy())),
        (ValueError, "finite numbers", lambda x, v: (x, v * float("nan"))),
    ]
    for error, message, change in cases:
        with pytest.raises(error, match=f"evaluate must .*{message}"):
            te.search.gumbel_muzero_policy(state, changed(right, change), 3)

    def half(state: te.State) -> tuple[Any, Any]:
        logits, values = right(state)  # a multiple of 1/16 below 8 and one of 1/1024: exact in 8 bits, or rounded alike
        return logits.bfloat16(), values.to(torch.float64)

    def whole(state: te.State) -> tuple[Any, Any]:
        logits, values = right(state)
        return logits.bfloat16().float(), values

    outputs = [te.search.gumbel_muzero_policy(state, evaluate, SIMULATIONS) for evaluate in (half, whole)]
    assert_equal(*outputs)
