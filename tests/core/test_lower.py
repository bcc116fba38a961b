"""The package's own way from a traced kernel to code is taken: by the kernels of every game, and by no others."""

import pytest
from tinygrad import Tensor, UOp
from tinygrad.uop.ops import Ops

import tensor_envs as te
from tensor_envs import ops
from tensor_envs.core import launch
from tensor_envs.core.lower import lowered


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> list[Ops]:
    """What kernels are lowered to, in the order of their launches."""
    found: list[Ops] = []

    def noted(*arguments: object) -> UOp:
        result = lowered(*arguments)  # type: ignore[arg-type]
        found.append(result.op)
        return result

    monkeypatch.setattr(launch, "lowered", noted)
    return found


@pytest.mark.parametrize("name", te.registered())
def test_games(name: str, kinds: list[Ops]) -> None:
    env = te.make(name)  # not one whose kernels are there already
    state = env.init(64, device="CPU")
    te.rollout_from(state, "uniform", 3)
    assert kinds == [Ops.PROGRAM] * 4  # stream, new games, restart, rollout


def test_reductions_are_left_to_tinygrad(kinds: list[Ops]) -> None:
    assert ops.winner(Tensor([[1, 1, 1]], device="CPU"), k=3).item() == 1
    assert kinds == [Ops.SINK]
