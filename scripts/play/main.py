"""Play the games in a browser, by clicking: against the computer, or with other people at the same page.

    python scripts/play.py              # then open http://127.0.0.1:8000/
    python scripts/play.py --port 0     # any free port
    python scripts/play.py --env my_games:GAME    # a game of one's own, too

The computer plays at random or, where a game is solved (Shed, 3x3 tic-tac-toe), perfectly. The page is served to this
machine alone and needs nothing from elsewhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from command import Parser, run, whole
from command.games import device_of, known
from play.server import ADDRESS, Server


def work(options: argparse.Namespace) -> None:
    try:
        server = Server(options.port, options.env)
    except OSError as error:
        raise OSError(f"{ADDRESS}:{options.port} cannot be served: {error.strerror}") from None
    try:
        # asked on the worker's thread, the only one that may use tinygrad
        device = server.worker.submit(device_of).result()
        print(f"open {server.url} (Ctrl-C ends); games are played on {device}", flush=True)
        server.serve_forever()
    finally:
        server.server_close()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("play.py", __doc__)
    parser.add_argument(
        "--port", type=whole(0, 65535), default=8000, help="0 takes a free one; default: 8000"
    )
    parser.add_argument(
        "--env",
        nargs="+",
        type=known,
        default=(),
        metavar="MODULE:NAME",
        help="games of your own, offered besides",
    )
    return run(parser, work, arguments)
