"""Play the games in a browser, by clicking: against the computer, or with other people at the same page.

    python scripts/play.py              # then open http://127.0.0.1:8000/
    python scripts/play.py --port 0     # any free port

The computer plays at random or, where a game is solved (Shed, 3x3 tic-tac-toe), perfectly. The page is served to this
machine alone and needs nothing from elsewhere.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from play_server import ADDRESS, Server


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=int, default=8000, help="0 takes a free one; default: 8000")
    options = parser.parse_args(arguments)
    if not 0 <= options.port < 65536:
        print(f"error: --port must be in 0..65535, got {options.port}", file=sys.stderr)
        return 2
    try:
        server = Server(options.port)
    except OSError as error:
        print(f"error: {ADDRESS}:{options.port} cannot be served: {error.strerror}", file=sys.stderr)
        return 2
    try:
        print(f"open {server.url} (Ctrl-C ends)", flush=True)
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()
        server.worker.shutdown(wait=False, cancel_futures=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
