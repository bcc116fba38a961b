"""What a game's folder says about itself."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class GameEntry:
    """A game's id and where its parts are. Modules and classes are named, "package.module:Class", and imported late.

    rules: a frozen dataclass, see `core.spec.Rules`, or its name. notation: a module with `to_dict`, `from_dict`,
    `action_to_string` and `symmetries`; `from_dict` gives all fields of the Spec, `current_player`, `terminated` and
    `truncated`, and may leave out `ply`, which is then 0. render: a module with `to_string` and `to_svg`; for pixels
    also `draw`, which gives a `render.Drawing`; if the game hides anything also `seen_by(rules, game, player)`, the
    dictionary of a game as that seat knows it. A game without these two can be played, but not read or drawn. presets:
    further ids with fixed rule fields. version grows whenever a game with the same seed and actions would run
    otherwise.
    """

    id: str
    rules: str | type
    notation: str = ""
    render: str = ""
    version: int = 0
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def load_rules(self) -> Any:
        """The rules dataclass. TypeError if it is none."""
        rules = self.rules
        if isinstance(rules, str):
            module, _, name = rules.partition(":")
            rules = getattr(importlib.import_module(module), name)
        if not (isinstance(rules, type) and is_dataclass(rules)):
            raise TypeError(f"the rules of {self.id!r} must be a frozen dataclass, got {rules!r}")
        return rules

    def load(self, part: str) -> ModuleType:
        """The module "notation" or "render". NotImplementedError if the game has none."""
        name = getattr(self, part)
        if not name:
            raise NotImplementedError(f"{self.id!r} has no module for this: name a {part} in its GameEntry")
        return importlib.import_module(name)
