"""Entries of games in the registry."""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensor_envs._validate import instance, integer, shown

FUNCTIONS = {  # required ones, and their arguments
    "notation": {"to_dict": "rules, fields", "from_dict": "rules, game"},
    "render": {"to_string": "rules, game", "draw": "rules, game"},
    "oracle": {"solve": "rules, device", "is_quick": "rules", "load": "path, device"},
}
DEFAULT = "tensor_envs.render.default"  # the notation and render of games without
SUBSTITUTES = {"draw": "to_svg"}  # function that a module may have instead of a required one


@dataclass(frozen=True)
class GameEntry:
    """Id of a game and the places of its parts. Modules and classes are names, imported when first used.

    Attributes:
        id: lower case letters, digits and underscores.
        rules: a frozen dataclass, see `tensor_envs.Rules`, or its name.
        notation: a module with `to_dict(rules, fields)` and `from_dict(rules, game)`, for dictionaries. Fields are a
            dictionary of plain ints, bools and nested lists; `from_dict` gives all fields of the Spec,
            `current_player`, `terminated` and `truncated`; without `ply` it is 0. Entries of a dictionary that are
            called `current_player`, `ply`, `terminated` or `truncated` are the state's, and come first: the environment
            adds those that `from_dict` would not give back. Optional functions are `action_to_string(rules, action)`,
            else actions have the names of the rules' `actions` (see `rules.Actions`) or their numbers, and
            `symmetries(rules)`, else a game has the identity alone. Where names of actions depend on the position, also
            `move_to_string(rules, action, fields)` for legal actions, and `move_pattern(names)`, a pattern without
            groups of names that may be illegal, beside the `names` of legal actions. `spellings(rules, fields, legal)`
            gives further names of legal actions. `SYNONYMS` are pairs of a pattern and what stands for it, a string or
            a function of the match, by which `te.text.parse` turns words into names.
        render: a module with `to_string(rules, game)` and `draw(rules, game)`, which returns a `render.Drawing`, of
            dictionaries as `to_dict` gives them; for pictures that have no pixels `to_svg(rules, game)`, which returns
            the SVG document, in place of `draw`; for the wall of the page also `tile(rules)`, which returns a
            `render.tile.Tile`; if the game hides anything also `seen_by(rules, game, player)`, which removes what is
            hidden from a player; for tables also the functions of `render.scene`, such as `players(rules, game)`, the
            names of the seats.
        version: grows whenever a game with the same seed and actions would take another course.
        presets: further ids with fixed rule fields, `max_plies` (see `make`) included.
        short: rule fields under which games end soon, for tests.
        files: for each ending of a file of whole games, such as ".pgn", a module with
            `write(rules, game, positions)`, which returns the text of a `te.Record`, and `read(rules, text)`, which
            returns the first position as a dictionary (or None), for each action its name and its place in the text,
            and, in games of chance, a dictionary of `seed` and `row`; see `te.save_game`. Where several
            games or boards share an ending, also `rule_fields(text)`: the rule fields that a text names, or None for
            another game's text.
        oracle: a module of exact values, for a game that `te.solve` does not take. `solve(rules, device)` returns an
            oracle (see `te.regret`) with `value(state)` and `write(path)`, `load(path, device)` reads it, and
            `is_quick(rules)` tells whether the game is solved in seconds. For pages `compact_tables(rules)` returns
            arrays by name, and `lookup(rules, layout)` a kernel that reads them, the arrays that it takes, and the
            contents of others.

    Notation and render are optional. Where no module is named, the rules class may have the functions as methods, as
    `rules.pieces.Pieces` has; no rule field may have the name of one then. Without them dictionaries have the fields of
    the Spec, and texts and pictures show these: sets of cells as boards, then lists and numbers.

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
        """Import the rules dataclass and return it. TypeError if the name is of another object."""
        rules = self.rules
        if isinstance(rules, str):
            module, _, name = rules.partition(":")
            rules = getattr(importlib.import_module(module), name)
            _check_rules(self, rules)
        return rules

    def find(self, part: str) -> Any:
        """Return the module of a part, else the rules class if it has the functions of the part, else None."""
        if name := getattr(self, part):
            module = importlib.import_module(name)
            if missing := [function for function in FUNCTIONS[part] if not _has(module, function)]:
                function = f"{missing[0]}({FUNCTIONS[part][missing[0]]})"
                raise TypeError(f"the {part} {name!r} of {self.id!r} must have {function}")
            return module
        rules = self.load_rules()
        return rules if all(_has(rules, function) for function in FUNCTIONS[part]) else None

    def quick_oracle(self, rules: Any) -> Any:
        """Return the module "oracle" of a game whose rules it solves in seconds, else None."""
        own = self.find("oracle")
        return own if own is not None and own.is_quick(rules) else None

    def load(self, part: str) -> Any:
        """Return what `find` returns or, for a game without the part, a default that shows the fields of the Spec."""
        functions = self.find(part)
        return importlib.import_module(DEFAULT) if functions is None else functions


def _has(functions: Any, name: str) -> bool:
    """Return whether a module or class has a function, or an accepted substitute of it."""
    return hasattr(functions, name) or hasattr(functions, SUBSTITUTES.get(name, name))


def _check_rules(entry: GameEntry, rules: Any) -> None:
    """Raise TypeError or ValueError for invalid rules, or presets and `short` that name no fields of theirs."""
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
