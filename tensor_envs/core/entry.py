"""What a game's folder says about itself."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class GameEntry:
    """A game's id and where its parts are. Modules and classes are named, "package.module:Class", and imported late.

    rules: a frozen dataclass, see `core.spec.Rules`. notation: a module with `to_dict`, `from_dict`,
    `action_to_string` and `symmetries`; `from_dict` gives all fields of the Spec, `current_player`, `terminated` and
    `truncated`, and may leave out `ply`, which is then 0. render: a module with `to_string` and `to_svg`; for pixels
    also `draw`, which gives a `render.Drawing`; if the game hides anything also `seen_by(rules, game, player)`, the
    dictionary of a game as that seat knows it. presets: further ids with fixed rule fields. version grows whenever a
    game with the same seed and actions would run otherwise.
    """

    id: str
    rules: str
    notation: str
    render: str
    version: int = 0
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def load_rules(self) -> Any:
        """The rules dataclass."""
        module, _, name = self.rules.partition(":")
        return getattr(importlib.import_module(module), name)

    def load(self, part: str) -> ModuleType:
        """The module "notation" or "render"."""
        return importlib.import_module(getattr(self, part))
