"""Rule sets in TOML files, for games with many rule fields."""

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from tensor_envs._validate import file_path, shown


def check_names(what: str, kind: type, table: Mapping[str, Any]) -> None:
    """Raise TypeError for a name that is no field of a dataclass."""
    names = [field.name for field in fields(kind)]
    for name in table:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise TypeError(f"{what} has no field {shown(name)}{hint}; its fields are {', '.join(names)}")


def read_rules(path: str | Path, kind: type) -> dict[str, Any]:
    """Return the rule fields in a TOML file, checked by the dataclass of the rules.

    Raises:
        ValueError: the file is no TOML, or has an unknown field or a wrong value; the message names the file.
        OSError: the file cannot be read.
    """
    path = file_path("path", path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        check_names("a rule set", kind, table)
        rules = kind(**table)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    return {name: getattr(rules, name) for name in table}
