"""Settings of training as options of a command."""

from __future__ import annotations

import argparse
from dataclasses import fields
from typing import Any

from tensor_envs._command import real, whole
from tensor_envs.train.config import TrainingConfig


def add_settings(parser: argparse.ArgumentParser, kind: type[TrainingConfig]) -> None:
    """Add an option for every setting; `settings_of` returns those that are given."""
    for item in fields(kind):
        # argparse formats it
        name = f"--{item.name.replace('_', '-')}"
        text = item.metadata["help"].replace("%", "%%")
        if isinstance(item.default, bool):
            parser.add_argument(name, action="store_true", default=argparse.SUPPRESS, help=text)
            continue
        low = item.metadata["low"]
        high = item.metadata["high"]
        number: Any = whole(low, high) if isinstance(item.default, int) else real(low, high)
        text = f"{text}; default: {item.default}"
        parser.add_argument(name, type=number, default=argparse.SUPPRESS, metavar="N", help=text)


def settings_of(options: argparse.Namespace, kind: type[TrainingConfig]) -> dict[str, Any]:
    """Return the settings that were given, by name."""
    return {item.name: getattr(options, item.name) for item in fields(kind) if item.name in options}
