"""Options of commands with players of text."""

from __future__ import annotations

import argparse

from tensor_envs._command import real, whole
from tensor_envs.evaluation.matches import MAX_GAMES
from tensor_envs.referee.disguise import KINDS
from tensor_envs.referee.settings import MAX_TIME, Settings
from tensor_envs.search.policies import MAX_SIMULATIONS


def add_settings(parser: argparse.ArgumentParser, tries: int, opening: int) -> None:
    """Add --simulations and the options of `settings_of`, with defaults of --tries and --opening."""
    text = "answers to a question; default: %(default)s"
    parser.add_argument("--tries", type=whole(1, 100), default=tries, help=text)
    text = "random plies at the start; default: %(default)s"
    parser.add_argument("--opening", type=whole(0, 10_000), default=opening, help=text)
    parser.add_argument("--limit", type=whole(1, MAX_GAMES), default=2000, help="plies of a game; default: 2000")
    text = "simulations of the search that judges moves of games without exact values; default: 1024"
    parser.add_argument("--simulations", type=whole(1, MAX_SIMULATIONS), default=1024, metavar="N", help=text)
    text = f"show the game under another skin: {', '.join(KINDS)}"
    parser.add_argument("--disguise", nargs="+", default=[], choices=KINDS, metavar="KIND", help=text)
    parser.add_argument("--no-history", action="store_true", help="leave the moves so far out of prompts")
    parser.add_argument("--no-legal", action="store_true", help="leave the legal moves out of prompts")
    text = "seconds for an answer; default: %(default)g"
    parser.add_argument("--time-limit", type=real(1e-3, MAX_TIME), default=Settings.time_limit, metavar="S", help=text)
    text = "further requests after a failure that may pass, with growing waits; default: %(default)s"
    parser.add_argument("--retries", type=whole(0, 100), default=Settings.retries, metavar="N", help=text)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings of a command's options."""
    return Settings(
        history=not options.no_history,
        legal=not options.no_legal,
        tries=options.tries,
        opening=options.opening,
        limit=options.limit,
        disguise=tuple(options.disguise),
        time_limit=options.time_limit,
        retries=options.retries,
    )
