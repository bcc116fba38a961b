"""The kernels of networks on a GPU: values and gradients are those of tinygrad's operations, for any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tinygrad import Tensor
from tinygrad.helpers import Context

import tensor_envs as te
from tensor_envs._runtime.capture import CapturedFunction
from tensor_envs.train import fused_gpu
from tensor_envs.train.architecture import Architecture
from tensor_envs.train.fused_gpu import DenseKernel, evaluate, is_layered
from tensor_envs.train.fused_source import TYPES
from tensor_envs.train.network import Network, evaluator
from tests.games.shared import shared_env
from tests.search.test_tree_search import played
from tests.test_devices import DEVICES, skip_without
from tests.train.test_fused import Case, numbers, reference

# sizes below, at and above whole tiles, turns and blocks; observations of all dtypes; policies of few and many actions
CASES: tuple[Case, ...] = (
    (Architecture(19, (9,), (3, 1), "tanh"), 70, np.bool_, True),
    (Architecture(84, (64, 64), (7, 1)), 300, np.bool_, True),
    (Architecture(33, (37, 9), (83, 1), "tanh"), 7, np.float32, True),
    (Architecture(5, (3,), (2, 1)), 1, np.uint8, True),
    (Architecture(130, (70, 33, 16), (15, 1), "tanh"), 257, np.uint8, True),
    (Architecture(1, (1, 1), (16, 1)), 64, np.float32, True),
    (Architecture(84, (64, 64), (7, 1)), 16384, np.bool_, True),
    (Architecture(40, (64,), (9, 1)), 8192, np.float32, True),
)


def network_of(env: te.Env, device: str, hidden: int = 12, activation: str = "relu") -> Network:
    """Return a network whose outputs differ from position to position."""
    weights = {k: 3 * w.numpy() for k, w in Network(env, hidden, seed=1, device="CPU").weights().items()}
    return Network(env, weights=weights, activation=activation, device=device)


@pytest.mark.few("CL-0")
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("device", DEVICES)
def test_values(device: str, case: Case) -> None:
    skip_without(device)
    net = case[0]
    x, mask, weights = numbers(case)
    assert mask is not None
    tensors = [Tensor(w, device=device).realize() for w in weights]
    seen, legal = (Tensor(a, device=device).realize() for a in (x, mask))
    assert is_layered(net, seen)
    outputs = [y.numpy() for y in evaluate(net, seen, legal, tensors)]
    allowed = np.logical_or(mask, ~mask.any(1, keepdims=True))
    for found, expected in zip(outputs, reference(net, x, mask, weights), strict=True):
        assert found.shape == expected.shape
        assert np.abs(found - expected)[allowed if found.ndim == 2 else ...].max() < 1e-5
    assert outputs[0][~allowed].max(initial=-1e9) <= -1e8
    # a row's outputs do not depend on the other rows, though a small batch has other tiles
    alone = evaluate(net, Tensor(x[:1], device=device), Tensor(mask[:1], device=device), tensors)
    assert all((a[:1] == b.numpy()).all() for a, b in zip(outputs, alone, strict=True))


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_of_a_layer(device: str) -> None:
    """The derivative along a random direction is exact in complex numbers."""
    skip_without(device)
    case: Case = (Architecture(5, (3,), (2, 1), "tanh"), 7, np.float32, True)
    net, (x, mask, weights) = case[0], numbers(case)
    assert mask is not None
    tensors = [Tensor(w, device=device).realize() for w in weights]
    logs, values = evaluate(net, Tensor(x, device=device), Tensor(mask, device=device), tensors)
    # the gradient of a square depends on the output
    loss = values.square().sum() + (logs * Tensor(mask, device=device)).sum()
    (gradient,) = loss.gradient(tensors[0])
    direction = np.random.default_rng(2).normal(size=weights[0].shape)
    moved = [weights[0] + 1e-30j * direction, *weights[1:]]
    expected, slopes = reference(net, x, mask, weights), [y.imag * 1e30 for y in reference(net, x, mask, moved)]
    slope = (2 * expected[1] * slopes[1]).sum() + (slopes[0] * mask).sum()
    assert abs((gradient.numpy() * direction).sum() - slope) < 1e-4 * abs(slope)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "activation", "batch"),
    [
        ("kuhn_poker", "tanh", 5),
        ("connect_four", "relu", 70),
        ("leduc_poker", "tanh", 7),
        ("chess", "relu", 7),
        ("backgammon", "relu", 70),
    ],
)
@pytest.mark.parametrize("device", DEVICES)
def test_values_and_gradients_are_tinygrads(device: str, game: str, activation: str, batch: int) -> None:
    skip_without(device)
    env = shared_env(game)
    state = te.rollout(env, "uniform", batch=batch, steps=2, device=device).state
    network, random = network_of(env, device, 12, activation), np.random.default_rng(0)
    seen, mask = env.observe(state).flatten(1), state.legal_action_mask
    seen = seen if seen.dtype in TYPES else seen.float()
    legal = mask.numpy()
    drawn = random.normal(size=legal.shape) * legal, random.normal(size=batch)
    factors = [Tensor(x.astype(np.float32), device=device) for x in drawn]
    assert is_layered(network.architecture, seen)
    for used in ((0, 1), (0,), (1,)):  # an output that nothing uses has no gradient
        results = []
        for ours in (True, False):
            outputs = network(seen, mask) if ours else network._by_tinygrad(seen.float(), mask)
            # the gradient of a square depends on the output
            scaled = [outputs[k] * factors[k] for k in used]
            loss = sum(((x + x.square()).sum() for x in scaled), Tensor(0.0))
            gradients = [g.numpy() for g in loss.gradient(*network.parameters().values())]
            logs, values = (y.numpy() for y in outputs)
            results.append([logs[legal], values, *gradients])
        for found, expected in zip(*results, strict=True):
            assert np.abs(found - expected).max() < 1e-5 * (1 + np.abs(expected).max())
        assert all(np.abs(x).max() > 0 for x in results[0][:6])


@pytest.mark.parametrize("device", DEVICES)
def test_training_takes_tinygrads_operations(device: str) -> None:
    skip_without(device)
    net, seen = CASES[0][0], Tensor.zeros(2, 19, device=device)
    assert is_layered(net, seen) and not is_layered(net, seen.cast("int32"))
    assert not is_layered(Architecture(19, (9,), (3, 1), "relu", (19, 1), 4, 1), seen), "a tower"
    with Context(TRAINING=1):  # type: ignore[no-untyped-call]
        assert not is_layered(net, seen)
    with pytest.raises(ValueError, match=f"observation must be on the network's device '{device}', got 'CPU'"):
        env = shared_env("kuhn_poker")
        network_of(env, device)(Tensor.zeros(1, 11, device="CPU"), Tensor.ones(1, 2, device=device) > 0)


@pytest.mark.few("CL-kuhn_poker-5")
@pytest.mark.parametrize(("game", "batch"), [("kuhn_poker", 5), ("connect_four", 128), ("othello", 70)])
@pytest.mark.parametrize("device", DEVICES)
def test_launches(device: str, game: str, batch: int) -> None:
    """A captured evaluation reads observations where a kernel has stored them; only the mask takes one more kernel."""
    skip_without(device)
    env = shared_env(game)
    state = te.rollout(env, "uniform", batch=batch, steps=2, device=device).state
    network = network_of(env, device, 12, "tanh")

    def look(words: Tensor, row_keys: Tensor) -> tuple[Tensor, Tensor]:
        now = te.State(env, state.buffers._replace(words=words, row_keys=row_keys))
        return network(env.observe(now).flatten(1), now.legal_action_mask)

    captured = CapturedFunction(look)
    for _ in range(2):
        outputs = captured(*state.tensors)
    words = [env.state_to_dict(state, i) for i in range(batch)]
    same = env.state_from_dicts(words, device="CPU")
    expected = network_of(env, "CPU", 12, "tanh")(env.observe(same).flatten(1), same.legal_action_mask)
    assert all(np.abs(a.numpy() - b.numpy()).max() < 1e-5 for a, b in zip(outputs, expected, strict=True))
    names = [program.arg.name for program in captured.programs()]
    observe = f"{type(env.engine.game.rules).__name__}_observe"
    layers = ["dense"] * 4 if env.num_actions > 15 else ["dense", "dense", "heads"]
    assert [name for name in names if name in (observe, "dense", "heads")] == [observe, *layers]
    assert len(names) == len(layers) + (4 if env.num_actions > 15 else 2)


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("game", ["connect_four", "leduc_poker", "othello"])
def test_searches(device: str, game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search is that with tinygrad's operations, but for rounding."""
    skip_without(device)
    env = shared_env(game)
    state, trees = played(env, 70, 2), list[dict[str, Any]]()
    state = env.state_from_dicts([env.state_to_dict(state, i) for i in range(70)], device=device)
    for ours in (True, False):
        if not ours:
            monkeypatch.setattr(fused_gpu, "is_layered", lambda *_: False)
        evaluate = evaluator(env, network_of(env, device))
        for _ in range(2):
            output = te.search.gumbel_muzero_policy(state, evaluate, 12, seed=3)
        trees.append(output.search_tree.summary() | {"action": output.action.numpy()})
    assert (trees[0]["action"] == trees[1]["action"]).mean() > 0.95
    assert np.abs(trees[0]["value"] - trees[1]["value"]).mean() < 1e-3
    assert trees[0]["visit_counts"].std() > 0


def test_tiles_fill_a_card() -> None:
    """A large batch has large tiles; a small one has many threads."""
    net = Architecture(84, (64, 64), (7, 1))
    for rows, tile in ((16384, 4), (8192, 2), (1024, 1), (16384 + 64, 2)):
        assert DenseKernel(rows, net.inputs, 64)._tile_rows(8) == tile
    assert DenseKernel(16384, 84, 64)._group_warps(128, 8) == 4 and DenseKernel(1024, 84, 64)._group_warps(32, 8) == 1
