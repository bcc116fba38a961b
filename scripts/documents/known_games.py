"""Types of the games for type checkers: `te.make("chess").rules` and the fields of its states.

    python scripts/known_games.py

writes them to `tensor_envs/_known_games.pyi`. `python -m pytest tests/types` says whether they are those of the games.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Sequence
from pathlib import Path

import tensor_envs
from tensor_envs._command import command_parser, run
from tensor_envs.envs import registry

STUB = Path(tensor_envs.__file__).with_name("_known_games.pyi")
HEAD = '''\
"""Types of `te.make` for each game. Written by `python scripts/known_games.py`."""

from typing import Any, Literal, overload

from tinygrad.tensor import Tensor

from tensor_envs.envs.env import Env, Illegal
from tensor_envs.envs.state import State
'''
BASE = """\

class KnownState(State):
    __getattr__: None  # type: ignore[assignment,misc] # fields are attributes of the subclasses
    current_player: Tensor
    ply: Tensor
    episode: Tensor
"""
MAKE = """\
@overload
def make(
    id: {id}, *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env{types}: ...
"""
GENERAL = """\
@overload
def make(id: str, *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any) -> Env:
"""


def stub() -> str:
    """Return the text of the stub."""
    imports, classes, overloads = set[str](), dict[str, str](), list[str]()
    for id in sorted(name for entry in registry._built_in() for name in (entry.id, *entry.presets)):
        env = registry.make(id)
        module, rules = type(env.rules).__module__, type(env.rules).__name__
        imports.add(f"from {module} import {rules}\n")
        fields = [name for name in env.spec_fields if name not in ("current_player", "ply", "episode")]
        classes[rules] = f"class {rules}State(KnownState):\n" + "".join(f"    {name}: Tensor\n" for name in fields)
        overloads.append(MAKE.format(id=f'Literal["{id}"]', types=f"[{rules}, {rules}State]"))
    document = textwrap.indent(inspect.getdoc(registry.make) or "", "    ").strip()
    overloads.append(f'{GENERAL}    """{document}\n    """\n')
    return HEAD + "".join(sorted(imports)) + "\n".join([BASE, *classes.values()]) + "\n" + "".join(overloads)


def work(options: object) -> None:
    STUB.write_text(stub())


def main(arguments: Sequence[str] | None = None) -> None:
    run(command_parser("python scripts/known_games.py", __doc__), work, arguments)
