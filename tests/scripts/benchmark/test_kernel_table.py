"""scripts/benchmark/kernel_table.py counts operations and bytes."""

import re
import sys

import pytest
from tinygrad import Context

import tensor_envs as te
from benchmark import kernel_table as table
from tensor_envs._engine.engine import Engine
from tests.scripts.here import status

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C of the limits is built on Linux alone")


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "SECONDS", 0.001)


def printed_operations(env: te.Env) -> int:
    """Count the operations of one game's step in its printed tape: lines of the inner loop that load nothing."""
    tape = te.inspect(env, "step", form="tape").source
    return len(re.findall(r"^ {6}%\d+: .* = (?!load )\w+ ", tape, re.MULTILINE))


@Context(CACHELEVEL=0)  # type: ignore[no-untyped-call]  # cached kernels have no tape
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_operations_are_those_of_the_printed_tape(name: str) -> None:
    """Lanes that share a loop store and compute a few values again."""
    env = te.make(name)
    env.engine = Engine(env.rules)  # that of other tests has compiled other steps
    env.step(env.init(64), [0] * 64)
    assert table.operations(env, "step", 64) == pytest.approx(printed_operations(env), rel=0.1)


@pytest.mark.slow
@Context(CACHELEVEL=0)  # type: ignore[no-untyped-call]  # cached kernels have no tape
def test_operations_of_a_game() -> None:
    """A uniform step also draws an action by Threefry: 20 rounds of an addition, an exclusive or and a rotation."""
    env, found = te.make("tic_tac_toe"), []
    for batch in (64, 4096):
        te.VectorEnv(env, batch).step_uniform()
        found.append(table.operations(env, "uniform", batch))
    assert found[0] == pytest.approx(found[1], rel=0.1)
    env.step(env.init(64), [0] * 64)
    # a rotation is one to three operations
    assert 20 * 3 < found[0] - table.operations(env, "step", 64) < 20 * 5 + 60
    large, cube = te.make("tensor_stars"), te.make("hyper_tic_tac_toe", shape=(4, 4, 4), k=4)
    for other in (large, cube):
        te.VectorEnv(other, 64).step_uniform()
    assert table.operations(large, "uniform", 64) > 3 * found[1]
    assert table.operations(cube, "uniform", 64) > 1.5 * found[1]
    assert table.operations(env, "uniform", 4096) == found[1]  # not the cube's, of the same class and compiled later


def test_a_row_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    table.main(["--env", "tic_tac_toe", "--batch", "128"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert [row[2] for row in rows] == ["step", "rollout of 64"]
    # reads the state except the rewards and the policy's key, writes the state and an action
    moved = 2 * te.make("tic_tac_toe").state_bytes - 4 * 2 + 4 + 8
    assert rows[0][3:5] == ["1", str(moved)]


def test_a_batch_below_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert status(table.main, ["--batch", "0"]) == 2
    assert "argument --batch: must be at least 1, got 0" in capsys.readouterr().err
