"""Game entries of the registry: an id, and the names of the modules that make up a game."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensor_envs._validate import instance, integer, shown

FUNCTIONS = {  # required functions of each module, and their arguments
    "notation": {"to_dict": "rules, fields", "from_dict": "rules, game"},
    "render": {"to_string": "rules, game", "draw": "rules, game"},
    "oracle": {"solve": "rules, device", "is_quick": "rules", "load": "path, device"},
}
DEFAULT = "tensor_envs.render.default"  # notation and render of games that have none
SUBSTITUTES = {"draw": "to_svg"}  # functions that may replace required ones


@dataclass(frozen=True)
class GameEntry:
    """Id of a game, and the names of its class of rules and its modules, which are imported when first used.

    Attributes:
        id: lower case letters, digits and underscores.
        rules: a frozen dataclass, see `tensor_envs.Rules`, or its name.
        notation: a module that converts states and actions, see below.
        render: a module that shows states, see below.
        version: a number that grows whenever a game with the same seed and actions would take another course.
        presets: further ids with fixed rule fields, `max_plies` (see `make`) included.
        short: rule fields under which games end soon, for tests.
        files: a module for each extension of files of whole games, such as ".pgn", see below.
        oracle: a module of exact values, for a game that `te.solve` does not take, see below.

    A module of notation has two functions: `to_dict(rules, fields)` and `from_dict(rules, game)`. Fields are a
    dictionary of plain ints, bools and nested lists; `from_dict` returns all fields of the Spec, `current_player`,
    `terminated` and `truncated`, and `ply` unless it is 0. In the dictionary of a game, entries with these four names
    are always those of the state: the environment adds the ones that `from_dict` would not give back. Optional are:

    - `action_to_string(rules, action)`. Without it, actions have the names of the rules' `actions` (see
      `rules.Actions`) or their numbers.
    - `symmetries(rules)`. Without it, a game has the identity alone.
    - `move_to_string(rules, action, fields)`, if the names of legal actions depend on the position. Then
      `move_pattern(names)` returns a pattern, without groups, of the names that may be illegal beside the legal ones.
    - `spellings(rules, fields, legal)`: further names of legal actions.
    - `SYNONYMS`: pairs of a pattern and its replacement (a string or a function of the match), by which
      `te.text.parse` turns words into names.

    A module of render has `to_string(rules, game)` and `draw(rules, game)`, which returns a `render.Drawing`; a game is
    a dictionary of `to_dict`. For pictures without pixels `to_svg(rules, game)`, which returns the SVG document,
    replaces `draw`. Optional are:

    - `tile(rules)`, which returns a `render.tile.Tile` for the page of all games.
    - `seen_by(rules, game, player)`, which removes what is hidden from a player; a game that hides anything needs it.
    - the functions of `render.scene` for tables, such as `players(rules, game)`, which returns the names of the seats.

    A module of files has `write(rules, game, positions)`, which returns the text of a `te.Record`, and
    `read(rules, text)`. The latter returns the first position as a dictionary (or None), the name of each action with
    its position in the text, and in games of chance a dictionary of `seed` and `row`; see `te.save_game`. If several
    games or boards share an extension, `rule_fields(text)` returns the rule fields that a text names, or None for the
    text of another game.

    A module of an oracle has `solve(rules, device)`, which returns an oracle (see `te.regret`) with `value(state)` and
    `write(path)`; `load(path, device)`, which reads it; and `is_quick(rules)`, which returns whether the game is solved
    in seconds. For web pages `compact_tables(rules)` returns arrays by name, and `lookup(rules, layout)` returns a
    kernel that reads them, the arrays that it takes, and the contents of others.

    Notation and render are optional. If no module is named, the class of rules may have the functions as methods, as
    `rules.pieces.Pieces` has; no rule field may then have the name of one. Without either, dictionaries have the fields
    of the Spec, and texts and pictures show these fields: sets of cells as boards, then lists and numbers.

    Raises:
        ValueError, TypeError: invalid ids, rules or versions.

    Examples:
        >>> te.GameEntry("small_hex", "tensor_envs.games.hex.rules:Hex", presets={"hex_5": {"size": 5}}).id
        'small_hex'
    """

    id: str
    rules: str | type
    notation: str = ""
    render: str = ""
    version: int = 0
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    short: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    oracle: str = ""

    def __post_init__(self) -> None:
        instance("presets", self.presets, Mapping)
        for name in (self.id, *self.presets):
            instance("an id", name, str)
            if not re.fullmatch(r"[a-z0-9][a-z0-9_]*", name):
                raise ValueError(f"an id must be lower case letters, digits and underscores, got {shown(name)}")
        integer("version", self.version, 0, 2**31 - 1)
        for part in FUNCTIONS:
            instance(part, getattr(self, part), str)
        if not isinstance(self.rules, str):
            _check_rules(self, self.rules)
        elif not re.fullmatch(r"[\w.]+:\w+", self.rules):
            raise ValueError(f"rules must be a class or its name 'package.module:Class', got {shown(self.rules)}")

    def load_rules(self) -> Any:
        """Import the class of rules and return it. TypeError if the name is that of another object."""
        rules = self.rules
        if isinstance(rules, str):
            module, _, name = rules.partition(":")
            rules = getattr(importlib.import_module(module), name)
            _check_rules(self, rules)
        return rules

    def find(self, part: str) -> Any:
        """Return the module of a part ("notation", ...). Else the class of rules if it has the functions, else None."""
        if name := getattr(self, part):
            module = importlib.import_module(name)
            if missing := [function for function in FUNCTIONS[part] if not _has(module, function)]:
                function = f"{missing[0]}({FUNCTIONS[part][missing[0]]})"
                raise TypeError(f"the {part} {name!r} of {self.id!r} must have {function}")
            return module
        rules = self.load_rules()
        return rules if all(_has(rules, function) for function in FUNCTIONS[part]) else None

    def quick_oracle(self, rules: Any) -> Any:
        """Return the oracle module if it solves the game with these rules in seconds, else None."""
        module = self.find("oracle")
        return module if module is not None and module.is_quick(rules) else None

    def load(self, part: str) -> Any:
        """Return the module of a part like `find`; without one, a default module that shows the fields of the Spec."""
        functions = self.find(part)
        return importlib.import_module(DEFAULT) if functions is None else functions


def _has(functions: Any, name: str) -> bool:
    """Return whether a module or class has a function or its substitute."""
    return hasattr(functions, name) or hasattr(functions, SUBSTITUTES.get(name, name))


def _check_rules(entry: GameEntry, rules: Any) -> None:
    """Raise TypeError or ValueError for invalid rules, and for unknown rule fields in `presets` and `short`."""
    parameters = getattr(rules, "__dataclass_params__", None)
    if not isinstance(rules, type) or not dataclasses.is_dataclass(rules) or not getattr(parameters, "frozen", False):
        raise TypeError(f"the rules of {entry.id!r} must be a frozen dataclass, got {shown(rules)}")
    for name in ("init", "legal_action_mask", "step", "observe"):
        if not callable(getattr(rules, name, None)):
            raise TypeError(f"the rules of {entry.id!r} must have a method {name}, see tensor_envs.Rules")
    if callable(getattr(rules, "spec", None)):
        raise TypeError(f"spec must be a property of the rules of {entry.id!r}, got a method: write @property above it")
    names = [*(f.name for f in dataclasses.fields(rules)), "max_plies"]  # a field of every game, see `make`
    for name, values in (("short", entry.short), *((f"presets[{id!r}]", p) for id, p in entry.presets.items())):
        instance(name, values, Mapping)
        if unknown := [field for field in values if field not in names]:
            raise ValueError(f"{name} must name fields of the rules, {names}, got {shown(unknown[0])}")
