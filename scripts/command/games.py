"""The game of a script: --env and --rules, for every game that there is and for those of its users."""

from __future__ import annotations

import argparse
import ast
from typing import Any

import tensor_envs as te
from tensor_envs._compiler.devices import resolve


def add_game(parser: argparse.ArgumentParser, default: str = "tic_tac_toe") -> None:
    """--env and --rules, which `game_of` understands."""
    about = "a registered game, or package.module:Class for one of your own; default: %(default)s"
    parser.add_argument("--env", default=default, metavar="ID", help=about)
    about = "fields of its rules, such as players=3"
    parser.add_argument("--rules", nargs="*", type=rule, default=[], metavar="FIELD=VALUE", help=about)


def add_games(parser: argparse.ArgumentParser) -> None:
    """--env for several games."""
    about = (
        "registered games, or package.module:Class for those of your own; default: all that are registered"
    )
    parser.add_argument("--env", nargs="+", type=known, default=te.registered(), metavar="ID", help=about)


def known(name: str) -> str:
    try:
        te.make(name)
    except (ValueError, TypeError, ImportError) as error:
        raise argparse.ArgumentTypeError(f"must name a game: {error}") from None
    return name


def game_of(options: argparse.Namespace) -> te.Env:
    """The environment of --env and --rules."""
    return te.make(options.env, **dict(options.rules))


def device_of(given: str | None = None) -> str:
    """The device that a script plays on, in full, as it prints it: --device, or else tinygrad's own choice."""
    return str(resolve(given))


def rule(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise argparse.ArgumentTypeError(
            f"must be FIELD=VALUE with a plain Python value, got {text!r}"
        ) from None
