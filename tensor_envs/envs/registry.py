"""Registry of games by id: every GAME in the `__init__.py` of a folder of `games`, and the entries of `register`."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import json
import pkgutil
import re
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from tensor_envs._engine.entry import GameEntry
from tensor_envs._validate import SHOWN, instance, plain, shown
from tensor_envs.envs.env import Env, Illegal
from tensor_envs.rules.spec import with_max_plies

_entries: dict[str, GameEntry] = {}
listeners: list[Callable[[], None]] = []  # called after each registration, for the registries of other libraries


def register(entry: GameEntry, *, replace: bool = False) -> None:
    """Register a game under its id and the ids of its presets.

    Args:
        entry: the game.
        replace: whether it may replace a game registered under the same id, as when a notebook's cell runs again.
            Existing environments keep their rules.

    Raises:
        TypeError: `entry` is no GameEntry, or `replace` is no bool.
        ValueError: an id is taken.

    Examples:
        >>> te.register(te.GameEntry("my_hex", "tensor_envs.games.hex.rules:Hex"))
        >>> te.make("my_hex", size=5).num_actions
        26
    """
    instance("entry", entry, GameEntry)
    instance("replace", replace, bool)
    for name in (entry.id, *entry.presets):
        existing = entries().get(name)
        replaceable = existing is _entries.get(entry.id)
        if existing is not None and not (replace and replaceable):
            hint = "; register(..., replace=True) puts another game in its place" * replaceable
            raise ValueError(f"the id {name!r} is registered already{hint}")
    _entries[entry.id] = entry
    for listener in listeners:
        listener()


def registered() -> tuple[str, ...]:
    """Return all ids of `make`, presets included, sorted.

    Returns:
        A tuple of ids.

    Examples:
        >>> "connect_four" in te.registered()
        True
    """
    return tuple(sorted(entries()))


def entries() -> dict[str, GameEntry]:
    """Return the entry of every id."""
    return {name: entry for entry in (*_built_in(), *_entries.values()) for name in (entry.id, *entry.presets)}


@functools.cache
def _built_in() -> tuple[GameEntry, ...]:
    """Return the entries of the games in this package."""
    package = importlib.import_module("tensor_envs.games")
    names = [name for _, name, is_game in pkgutil.iter_modules(package.__path__) if is_game and name != "_kit"]
    return tuple(importlib.import_module(f"tensor_envs.games.{name}").GAME for name in names)


def is_built_in(env: Env) -> bool:
    """Return whether the game of an environment is one of this package."""
    return env.entry in _built_in()


def _imported(name: str) -> GameEntry:
    """Import a custom game from "package.module:Name", a GameEntry or a rules dataclass."""
    module, _, attribute = name.partition(":")
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", name):
        raise ValueError(f"id must be one of registered() or 'package.module:Name', got {shown(name)}")
    try:
        target = getattr(importlib.import_module(module), attribute)
    except AttributeError:
        raise ValueError(f"the module {module!r} has no {attribute!r}, which the id {name!r} names") from None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):  # an import within the module
            raise
        raise ValueError(f"there is no module {error.name!r}, which the id {name!r} names") from None
    if isinstance(target, GameEntry):
        return target
    # For a rules dataclass, prefer an entry that the module registers, since it has notation and render modules.
    registered_entries = (entry for entry in _entries.values() if entry.rules in (target, name))
    return next(registered_entries, GameEntry(attribute.lower(), target))


def gymnasium_id(name: str, version: int) -> str:
    """Return Gymnasium's id of a game, such as "tensor_envs/TicTacToe-v0" for "tic_tac_toe", version 0."""
    words = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return f"tensor_envs/{words}-v{version}"


def _with_versions(ids: dict[str, GameEntry]) -> dict[str, str]:
    """Return the id of each spelling with a version: Gymnasium's id, and the id with a suffix."""
    spellings = (gymnasium_id, "{}-v{}".format)
    return {spell(name, entry.version): name for name, entry in ids.items() for spell in spellings}


def _letters(name: str) -> str:
    """Return the lower-case letters and digits of an id without its prefix and version, such as "tictactoe"."""
    return re.sub(r"[\W_]", "", re.sub(r"(?i)-v\d+$", "", name.rpartition("/")[2].strip())).lower()


def make(id: str, *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any) -> Env:
    """Make an environment by id, with the fields of the game's rules as keyword arguments.

    Args:
        id: one of `registered()`, also with the game's version as in Gymnasium ("tic_tac_toe-v0",
            "tensor_envs/TicTacToe-v0"), or "package.module:Name" for a custom game. Name is its GameEntry, or its rules
            dataclass (with the entry that the module registers for it, if there is one).
        illegal: "lose" (an illegal action ends the game: the mover gets -1, every other player 1/(P-1)) or "raise"
            (`step` checks actions on the host and raises ValueError).
        max_plies: plies after which an unfinished game is truncated; the last step pays its usual rewards, and a game
            that ends in that ply is terminated. A game with a rule field of this name has its own rule instead (go
            counts the board). None is the game's default.
        **rule_fields: fields of the game's rules dataclass; those of a preset are fixed.

    Returns:
        The environment.

    Raises:
        ValueError: an unknown id (the error has similar ones), or invalid values of rule fields.
        TypeError: an unknown rule field, or a name of an object that is no game.

    Examples:
        >>> te.make("hyper_tic_tac_toe", shape=(3, 4, 5), k=3).num_actions
        60
        >>> te.make("hex", max_plies=20)
        <Env hex-v0 max_plies=20>
    """
    instance("id", id, str)
    ids = {id: _imported(id)} if ":" in id else entries()
    # Both spellings with a version are of the current rules; other versions are unknown ids.
    versioned = _with_versions(ids) if "-v" in id else {}
    id = versioned.get(id, id)
    if id not in ids:
        names = list(versioned or ids)
        # Suggest ids that differ only in case, punctuation, prefix or version, or else similar ones.
        same_letters = [name for name in names if _letters(name) == _letters(id[:SHOWN])]
        cutoff = 0.0 if same_letters else 0.4
        similar = difflib.get_close_matches(id[:SHOWN], same_letters or names, n=3, cutoff=cutoff)
        hint = f"did you mean {' or '.join(map(repr, similar))}? " if similar else ""
        raise ValueError(f"unknown id {shown(id)}; {hint}registered() has all of them")
    entry = ids[id]
    rules = entry.load_rules()
    if max_plies is not None:
        rule_fields["max_plies"] = max_plies
    rule_fields = plain(rule_fields)
    fixed = entry.presets.get(id, {})
    # `max_plies` is a rule field of every game, even if the rules do not declare it.
    names = [f.name for f in fields(rules)]
    if "max_plies" not in names and "max_plies" in {**fixed, **rule_fields}:
        rules = with_max_plies(rules)
        names = [*names, "max_plies"]
    # Report unknown names before the rules check values.
    unknown = [name for name in rule_fields if name not in names]
    if unknown:
        raise TypeError(f"{id!r} has no rule field {unknown[0]!r}; its fields are {', '.join(names) or 'none'}")
    clash = [name for name in rule_fields if name in fixed]
    if clash:
        raise TypeError(
            f"the preset {id!r} fixes {clash[0]}={fixed[clash[0]]!r}; use make({entry.id!r}, ...) to choose it"
        )
    return Env(entry, rules(**fixed, **rule_fields), name=id, illegal=illegal)


def env_metadata(env: Env) -> dict[str, Any]:
    """Return the metadata of an environment in types that a file preserves: tuples become lists."""
    fixed = env.entry.presets.get(env.id, {})
    rules = {name: value for name, value in asdict(env.rules).items() if name not in fixed}
    for name, value in rules.items():
        if not _survives_json(value):
            raise TypeError(f"{name} must be of numbers, str, bool, None and tuples to be saved, got {shown(value)}")
    metadata = {"id": env.id, "version": env.version, "illegal": env.illegal, "rules": rules}
    return json.loads(json.dumps(metadata))  # type: ignore[no-any-return]


def words_metadata(env: Env) -> dict[str, Any]:
    """Return the metadata of an environment for a file with words of states, with a digest of their layout."""
    spec = env.spec
    fields = [(field.name, field.shape, field.low, field.high, field.kind) for field in spec.all_fields]
    layout = repr((spec.num_players, spec.num_actions, fields)).encode()
    return env_metadata(env) | {"layout": hashlib.sha256(layout).hexdigest()}


def has_words_of(metadata: dict[str, Any], env: Env) -> bool:
    """Return whether metadata of a file are an environment's `words_metadata`; older files do not have the digest."""
    return metadata in (words_metadata(env), env_metadata(env))


def _survives_json(value: Any) -> bool:
    """Return whether JSON restores a value, except that tuples become lists."""
    if isinstance(value, dict):  # the fields of a dataclass
        return all(isinstance(key, str) and _survives_json(x) for key, x in value.items())
    if isinstance(value, tuple):
        return all(map(_survives_json, value))
    return value is None or type(value) in (bool, int, float, str)


def env_of(metadata: dict[str, Any]) -> Env:
    """Make an environment from the metadata of a file.

    KeyError, TypeError, ValueError or AttributeError if they are invalid.
    """
    env = make(metadata["id"], illegal=metadata["illegal"], **{k: _tuples(v) for k, v in metadata["rules"].items()})
    if env.version != metadata["version"]:
        raise ValueError(f"it was saved by version {metadata['version']} of {env.id!r}, this is {env.version}")
    if "layout" in metadata and metadata["layout"] != words_metadata(env)["layout"]:  # older files have none
        raise ValueError(f"it was saved when {env!r} had other fields, actions or players")
    return env


def _tuples(value: Any) -> Any:
    """Convert lists from JSON to tuples, which rules use."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
