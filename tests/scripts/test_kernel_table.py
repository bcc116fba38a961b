"""`scripts/kernel_table.py` counts operations and bytes as they are."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import tensor_envs as te

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C of the limits is built on Linux alone")


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "scripts")
    module = importlib.import_module("kernel_table")
    monkeypatch.setattr(module, "SECONDS", 0.001)
    return module


def test_operations_of_a_game(table: Any) -> None:
    """Threefry alone has 20 rounds of an addition, an exclusive or and a rotation; the batch does not matter."""
    env, found = te.make("tic_tac_toe"), []
    for batch in (64, 4096):
        te.VectorEnv(env, batch).step_uniform()
        found.append(table.operations(env, "uniform", batch))
    assert found[0] == pytest.approx(found[1], rel=0.1)
    assert 100 < found[1] < 400
    large = te.make("tensor_stars")
    te.VectorEnv(large, 64).step_uniform()
    assert table.operations(large, "uniform", 64) > 3 * found[1]


def test_a_row_a_kernel(table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    table.main(["--env", "tic_tac_toe", "--batch", "128"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| `")]
    assert [row[2] for row in rows] == ["step", "rollout of 64"]
    spec = te.make("tic_tac_toe").spec
    # states and masks twice, flags, rewards, an action, the policy's key
    moved = 2 * (spec.state_bytes + 4) + 2 + 4 * 2 + 4 + 8
    assert rows[0][3:5] == ["1", str(moved)]


def test_a_batch_below_one_is_refused(table: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        table.main(["--batch", "0"])
    assert "--batch must be at least 1, got 0" in capsys.readouterr().err
