"""Sources and sizes of kernels."""

from __future__ import annotations

from typing import Any

import pytest

import tensor_envs as te


@pytest.mark.parametrize("kernel", ["init", "step", "observe", "rollout"])
def test_every_kernel_has_its_source(kernel: Any) -> None:
    report = te.inspect(te.make("tic_tac_toe"), kernel, device="CPU")
    assert f"HyperTicTacToe_{kernel}" in report.source
    assert report.source.count("{") == report.source.count("}") > 0 and report.instructions > 10


def test_the_source_is_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that runs has the program whose source is shown."""
    from tensor_envs._runtime import programs

    printed, found = programs.printed, []

    def record(*arguments: Any) -> Any:
        result = printed(*arguments)
        found.append(result[2])
        return result

    monkeypatch.setattr(programs, "printed", record)
    env = te.make("connect_four", rows=4, columns=5)
    env.step(env.init(1, device="CPU"), [0])
    assert te.inspect(env, "step", device="CPU").source in found


def test_more_rules_are_more_instructions() -> None:
    sizes = [te.inspect(te.make("go", size=5, superko=k), "step", device="CPU").instructions for k in (1, 8)]
    assert sizes[0] + 100 < sizes[1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("go",), TypeError, "env must be of type Env, got 'go'"),
        ((te.make("tic_tac_toe"), "stepp"), ValueError, "kernel must be one of 'init', 'step', 'observe', 'rollout'"),
        ((te.make("tic_tac_toe"), "step", "NOWHERE"), ValueError, "NOWHERE"),
    ],
)
def test_wrong_arguments(arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        te.inspect(*arguments)
