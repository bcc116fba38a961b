"""Names of version 0.2 work until 0.4, with a warning that names their successors."""

# mypy: disable-error-code="call-arg, arg-type"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensor_envs as te
from tensor_envs.rules import int32

ENV = te.make("tic_tac_toe")
OLD_KIND: Any = "word"
BOARD = np.eye(4, dtype=np.int32)


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
        (lambda: te.text.prompt(ENV.init(2), i=1) == te.text.prompt(ENV.init(2), 1), "row="),  # type: ignore[call-overload]
        (lambda: te.text.parse(ENV, ENV.action_to_string(0), ENV.init(2), i=1) == 0, "row="),
        (lambda: ENV.state_to_dict(ENV.init(2), i=1) == ENV.state_to_dict(ENV.init(2), 1), "row="),
        (lambda: te.playout(ENV.init(2), n=2).shape == (2, 2), "num_playouts="),
        (lambda: te.search.flat_monte_carlo(ENV.init(1), n=2).shape == (1,), "num_playouts="),
        (lambda: te.contact_sheet(ENV.init(3), games=[2]) == te.contact_sheet(ENV.init(3), [2]), "rows="),
        (lambda: te.ops.find_lines(BOARD, 3, limit=2) == te.ops.find_lines(BOARD, 3, 2), "max_lines="),
        (lambda: te.equilibrium(te.make("kuhn_poker"), method="dcfr").algorithm == "dcfr", "algorithm="),
        (lambda: te.rollout(ENV, "uniform", 2, 9, autoreset=False).episodes.tolist() == [1, 1], "autoreset='disabled'"),
        (lambda: te.rollout_from(ENV.init(2), "uniform", 3, autoreset=True).state.batch == 2, "autoreset='same_step'"),
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
