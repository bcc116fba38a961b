"""Measure a game and variants of its rules, for game designers.

    python -m tensor_envs.lab three_will --vary loan challenge to_win=2,3 --out report.html
    python -m tensor_envs.lab three_will --sweep 2 --players uniform 16    # the best of all pairs of switches
    python -m tensor_envs.lab tic_tac_toe --players uniform 64 --precision .02
    python -m tensor_envs.lab my_games:DiceRace --out report.json    # a custom game

Without --out the tables are printed, as wide as the terminal. Each variant has another value of one rule field; for a
field without values, a switch, it is the opposite. tensor_envs/lab/README.md defines the measures.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from tensor_envs._command import add_rules, command_parser, new_file, real, run, whole
from tensor_envs._validate import literal
from tensor_envs.envs.env import Env
from tensor_envs.envs.registry import make
from tensor_envs.lab.laboratory import MAX_CHANGES, MAX_GAMES, NAMED, PLAYERS, measure, variants
from tensor_envs.search.policies import MAX_EXPLORATION, MAX_SIMULATIONS

WRITERS = {".html": "to_html", ".md": "to_markdown", ".json": "to_json"}


def work(options: argparse.Namespace) -> None:
    """Measure the variants, and print or write the report. ValueError for another kind of file."""
    if options.out is not None and options.out.suffix not in WRITERS:
        raise ValueError(f"--out must end in {', '.join(WRITERS)}, got {str(options.out)!r}")
    base = make(options.id, **dict(options.rules))
    fields = dict[str, list[Any]]()
    for text in options.vary:
        name, values = values_of(base, text)
        if name in fields:
            raise ValueError(f"--vary must have each field once, got {name} twice")
        fields[name] = values
    envs = variants(base, None if options.sweep and not fields else fields, options.sweep or 1)
    shown = sys.stderr.isatty()
    report = measure(envs, options.players, options.games, options.precision, options.seed, shown, options.exploration)
    if options.out is None:
        print(report.to_text(shutil.get_terminal_size().columns))
    else:
        text = getattr(report, WRITERS[options.out.suffix])()
        options.out.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
        print(f"wrote {options.out}: {len(envs)} variants, {sum(v.seconds for v in report.variants):.0f} s of CPU time")


def values_of(base: Env, text: str) -> tuple[str, list[Any]]:
    """Return a rule field and its values from FIELD or FIELD=VALUE,VALUE; values that are no literals are strings."""
    field, equals, value_text = text.partition("=")
    if not equals:
        return field, []
    try:
        values = literal(value_text)
    except ValueError:
        return field, value_text.split(",")
    # A tuple is a list of values, unless it is a single value of a field of tuples.
    is_tuple_field = isinstance(getattr(base.rules, field, None), tuple)
    is_single = not isinstance(values, tuple) or (is_tuple_field and not any(isinstance(x, tuple) for x in values))
    return field, [values] if is_single else list(values)


def _player(text: str) -> str | int:
    """Parse the name of a player or a number of simulations."""
    try:
        return text if text in NAMED else whole(1, MAX_SIMULATIONS)(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be {', '.join(NAMED)} or simulations, got {text!r}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.lab", __doc__)
    parser.add_argument("id", metavar="GAME", help="a registered game, or package.module:Class for a custom one")
    add_rules(parser)
    add = parser.add_argument
    add("--vary", nargs="+", default=[], metavar="FIELD[=VALUES]", help="fields to vary, such as loan to_win=2,3")
    sweep = "all variants that change up to N fields, of those of --vary, or else of all switches"
    add("--sweep", type=whole(1, MAX_CHANGES), metavar="N", help=sweep)
    players = "uniform, simulations of playout search, trained, perfect; default: %(default)s"
    add("--players", nargs="+", type=_player, default=list(PLAYERS), help=players)
    add("--games", type=whole(32, MAX_GAMES), default=64, help="games of each player, default %(default)s")
    precision = "half the width of the intervals of scores, luck and skill, for which games are added"
    add("--precision", type=real(0.001, 1), help=precision)
    add("--seed", type=whole(0, 2**32 - 1), default=0, help="default %(default)s")
    exploration = "weight of the exploration of playout search; default: 4"
    add("--exploration", type=real(0, MAX_EXPLORATION), help=exploration)
    add("--out", type=new_file, metavar="FILE", help="a file .html, .md or .json")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
