"""Names of version 0.2 work until 0.4, with a warning that names their successors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tensor_envs as te
from tensor_envs.rules import int32

ENV = te.make("tic_tac_toe")
OLD_KIND: Any = "word"


@pytest.mark.parametrize(
    ("call", "successor"),
    [
        (lambda: te.policies is te.agents, "tensor_envs.agents"),
        (lambda: te.random_policy is te.agents.uniform, "tensor_envs.agents.uniform"),
        (lambda: te.PlainGame is te.ScalarGame, "tensor_envs.ScalarGame"),
        (lambda: ENV.describe() == te.text.describe(ENV), "tensor_envs.text.describe"),
        (lambda: ENV.prompt(ENV.init(1)) == te.text.prompt(ENV.init(1)), "tensor_envs.text.prompt"),
        (lambda: ENV.parse("(0,2)") == te.text.parse(ENV, "(0,2)") == 2, "tensor_envs.text.parse"),
        (lambda: int32(3).known, "Scalar.is_plain"),
        (lambda: te.rules.word is te.rules.uint32, "tensor_envs.rules.uint32"),
        (lambda: te.Field("set", kind=OLD_KIND) == te.Field("set", kind="uint32"), "'uint32'"),
        (lambda: te.rules.Grid(8, 8, kind="word64").words == 1, "'uint64'"),
        (lambda: te.solve(ENV).verify(most=1) > 0, "max_positions="),
        (
            lambda: te.solve(ENV).line(ENV.init(1), most=1) == te.solve(ENV).line(ENV.init(1), max_actions=1),
            "max_actions=",
        ),
        (lambda: te.search.is_solved(ENV), "te.solve"),
        (lambda: te.search.best_actions(ENV.init(2)).sum() == 18, "te.agents.perfect"),
    ],
)
def test_a_deprecated_name_works_and_warns(call: Callable[[], bool], successor: str) -> None:
    with pytest.warns(DeprecationWarning, match=successor):
        assert call()


def test_other_names_are_errors() -> None:
    for module in (te, te.rules, te.search):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            module.nothing  # noqa: B018
