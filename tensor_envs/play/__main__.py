"""Play the games in a browser, by clicking: against the computer, or with other people at the same page.

    python scripts/play.py              # or python -m tensor_envs.play; then open http://127.0.0.1:8000/
    python scripts/play.py --port 0     # any free port
    python scripts/play.py --env my_games:GAME    # a game of one's own, too

The computer plays at random, by playout search, by trained weights where they come with the package, or perfectly
where a game is solved (Shed, 3x3 tic-tac-toe). A form has the fields of a game's rules, to play under others. The page
is served to this machine alone and needs nothing from elsewhere; it is that of `python -m tensor_envs.web`, with no
games but those that are played.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tensor_envs._compiler.devices import resolve
from tensor_envs.play.server import ADDRESS, Server
from tensor_envs.web.command import Parser, run


def port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError(f"must be in 0..65535, got {value}")
    return value


port.__name__ = "int"  # as argparse calls it in "invalid int value"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port, default=8000, help="0 takes a free one; default: 8000")
    about = "games of your own, offered besides"
    parser.add_argument("--env", nargs="+", default=(), metavar="MODULE:NAME", help=about)


def work(options: argparse.Namespace) -> None:
    try:
        server = Server(options.port, options.env)
    except OSError as error:
        raise OSError(f"{ADDRESS}:{options.port} cannot be served: {error.strerror}") from None
    try:
        # asked on the worker's thread, the only one that may use tinygrad
        device = server.worker.submit(resolve, None).result()
        print(f"open {server.url} (Ctrl-C ends); games are played on {device}", flush=True)
        server.serve_forever()
    finally:
        server.server_close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("tensor_envs.play", __doc__)
    add_arguments(parser)
    return run(parser, work, arguments)


if __name__ == "__main__":
    sys.exit(main())
