"""Play the games in a browser, by clicking: against the computer, or with other people at the same page.

    python scripts/play.py              # or python -m tensor_envs.play; then open http://127.0.0.1:8000/
    python scripts/play.py --port 0     # any free port
    python scripts/play.py --env my_games:GAME    # a custom game besides
    python scripts/play.py --host 0.0.0.0 --invite    # a link for each person of a game, also on other computers

The computer plays at random, by playout search, by trained weights where they come with the package, or perfectly
where a game is solved (Shed, 3x3 tic-tac-toe). A form changes the fields of a game's rules. The server listens on this
machine alone, and the page needs no other host. It is the page of `python -m tensor_envs.web`.

With --invite every person of a game has a link, and who has the link has the seat: send it to nobody else. Games are
begun on this machine. There are no accounts, the connection is not encrypted, and a proxy on this machine counts as it:
this is for a network that you trust, and not for public hosting.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tensor_envs._command import at_signal, command_parser, device_of, real, run, whole
from tensor_envs.search.policies import MAX_EXPLORATION


def work(options: argparse.Namespace) -> None:
    from tensor_envs.play.server import Server  # --help needs no games

    if (options.host is None) == options.invite:
        raise ValueError("--host and --invite need each other")
    with Server(options.port, options.env, options.exploration, options.host) as server:
        at_signal.callback(server.tables.close)
        device = server.worker.submit(device_of).result()  # the only thread that may use tinygrad
        print(f"open {server.url} (Ctrl-C ends); games are played on {device}", flush=True)
        server.serve_forever()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.play", __doc__)
    parser.add_argument("--port", type=whole(0, 65535), default=8000, help="0 takes a free one; default: 8000")
    parser.add_argument("--host", metavar="ADDRESS", help="listen on this address of this machine; 0.0.0.0 for all")
    parser.add_argument("--invite", action="store_true", help="give each person of a game a link to their seat")
    text = "custom games, offered besides"
    parser.add_argument("--env", nargs="+", default=(), metavar="MODULE:NAME", help=text)
    text = "weight of the exploration of playout search; default: 4"
    parser.add_argument("--exploration", type=real(0, MAX_EXPLORATION), help=text)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
