"""Conformance test of environments, for custom games as well.

`check_env(env)` raises `ConformanceError` for the first check that fails. A check also fails if what it needs, such as
the end of a game, never occurs. A game with long episodes needs `short` rule fields in its entry.

The first checks find the most frequent mistakes in rules. They name a field or a line of the rules.
"""

from __future__ import annotations

import sys

from tensor_envs._runtime.devices import DeviceName
from tensor_envs._runtime.opening import open_device
from tensor_envs._validate import instance, integer
from tensor_envs.envs.env import Env
from tensor_envs.testing.conditions import MAX_STEPS, Check, ConformanceError, Skipped
from tensor_envs.testing.conversions import check_dictionaries, check_pictures, check_saving, check_symmetries
from tensor_envs.testing.information import (
    check_determinize,
    check_hidden_information,
    check_observations,
    check_perfect_information,
)
from tensor_envs.testing.plain_python import check_plain_python, check_rules
from tensor_envs.testing.stepping import (
    check_autoreset,
    check_ends,
    check_illegal_actions,
    check_jit,
    check_one_kernel,
    check_play,
    check_rollout,
    check_rows,
    check_shapes,
)

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "Skipped",
    "check_autoreset",
    "check_determinize",
    "check_dictionaries",
    "check_ends",
    "check_env",
    "check_hidden_information",
    "check_illegal_actions",
    "check_jit",
    "check_observations",
    "check_one_kernel",
    "check_perfect_information",
    "check_pictures",
    "check_plain_python",
    "check_play",
    "check_rollout",
    "check_rows",
    "check_rules",
    "check_saving",
    "check_shapes",
    "check_symmetries",
]

CHECKS: tuple[Check, ...] = (
    check_rules,
    check_shapes,
    check_ends,
    check_plain_python,  # before check_play: in a kernel a value beyond its bounds overwrites bits of other fields
    check_play,
    check_perfect_information,
    check_illegal_actions,
    check_rows,
    check_jit,
    check_determinize,
    check_observations,
    check_autoreset,
    check_rollout,
    check_dictionaries,
    check_pictures,
    check_saving,
    check_symmetries,
    check_hidden_information,
    check_one_kernel,
)


def check_env(env: Env, steps: int = 40, device: DeviceName | None = None) -> dict[str, str]:
    """Run every check below on a few games of the uniform policy.

    Args:
        env: any environment, with notation and render or without; it is checked with illegal="lose".
        steps: number of actions for checks of every ply. Checks of ends and resets run until these occur.
        device: as in `Env.init`.

    Returns:
        A summary of each check by its name, or why it was skipped.

    Raises:
        ConformanceError: names the check that fails and where.
        ValueError, TypeError: other arguments.

    Examples:
        >>> te.testing.check_env(te.make("kuhn_poker"))["check_one_kernel"]  # doctest: +SKIP
        '1 kernel a step'
    """
    instance("env", env, Env)
    steps = integer("steps", steps, 1, MAX_STEPS)
    open_device(device)
    env = env if env.illegal == "lose" else Env(env.entry, env.rules, env.id)
    report = {}
    for number, check in enumerate(CHECKS, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number}/{len(CHECKS)} {check.__name__}", end="", file=sys.stderr, flush=True)
        try:
            report[check.__name__] = check(env, steps, device)
        except Skipped as skipped:
            report[check.__name__] = f"skipped: {skipped}"
        finally:
            if sys.stderr.isatty():
                print(end="\r\033[K", file=sys.stderr, flush=True)
    return report
