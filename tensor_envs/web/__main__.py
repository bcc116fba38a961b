"""Write a page that plays games in a browser, by their own kernels as WebAssembly: a folder for any server of files.

    python -m tensor_envs.web build site                            # every game
    python -m tensor_envs.web build site --env othello three_will
    python -m http.server -d site                                   # and look at http://127.0.0.1:8000/

Pictures to click and positions as text need Python in the browser: `npm pack pyodide`, unpack it, and name its folder
with --pyodide. Its files become part of the page, which asks nothing of any other host.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import NoReturn

from tensor_envs.core.registry import registered
from tensor_envs.web.build import build


class Parser(argparse.ArgumentParser):
    """Refuses bad input in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse and build -> the exit code: 0, 2 for bad input, 130 for Ctrl-C."""
    about, _, examples = (__doc__ or "").partition("\n")
    parser = Parser("tensor_envs.web", description=about, epilog=examples,
                    formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("command", choices=["build"], help="write the page")
    parser.add_argument("out", type=Path, metavar="OUT", help="a folder, made if it is not there")
    parser.add_argument(
        "--env", nargs="+", metavar="ID", default=registered(), help="games; default: every one"
    )
    parser.add_argument("--pyodide", type=Path, metavar="DIR", help="the folder of Pyodide's npm package")
    told = "kernels are compiled and pictures found out, up to a minute a game ..."
    timer = Timer(2, lambda: print(told, file=sys.stderr, flush=True))
    timer.daemon = True
    try:
        options = parser.parse_args(arguments)
        timer.start()
        for id, size in build(options.out, options.env, options.pyodide).items():
            print(f"{id}: {size:,} bytes of kernels, compressed")
        print(f"python -m http.server -d {options.out} serves it")
    except SystemExit as exit_:
        return int(exit_.code or 0)
    except KeyboardInterrupt:
        code, message = 130, "stopped"
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, NotImplementedError) as error:
        code, message = 2, " ".join(str(error).split()) or type(error).__name__
    else:
        return 0
    finally:
        timer.cancel()
    print(f"tensor_envs.web: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
