"""Write a page that plays games in a browser, by their own kernels as WebAssembly: a folder for any server of files.

    python -m tensor_envs.web build site                            # every game
    python -m tensor_envs.web build site --env othello shed_7
    python -m http.server -d site                                   # and look at http://127.0.0.1:8000/

Games under other rules (the playground) need Python in the browser: `npm pack pyodide`, unpack it, and name its folder
with --pyodide. Its files become part of the page, which asks nothing of any other host.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tensor_envs import web
from tensor_envs._command import busy, command_parser, new_folder, real, run
from tensor_envs.search.policies import MAX_EXPLORATION
from tensor_envs.web.variants import VARIANTS


def work(options: argparse.Namespace) -> None:
    with busy("compiling kernels and drawing pictures, up to a minute a game"):
        for id, size in web.build(options.out, options.env, options.pyodide, options.exploration).items():
            print(f"{id}: {size:,} bytes of kernels, compressed")
    print(f"python -m http.server -d {options.out} serves it")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.web", __doc__)
    parser.add_argument("command", choices=["build"], help="write the page")
    parser.add_argument("out", type=new_folder, metavar="OUT", help="a folder, made if it is not there")
    text = f"games: {', '.join(VARIANTS)}, registered ids, package.module:Name; default: all of the former"
    parser.add_argument("--env", nargs="+", metavar="ID", default=[*VARIANTS], help=text)
    parser.add_argument("--pyodide", type=Path, metavar="DIR", help="the folder of Pyodide's npm package")
    text = "weight of the exploration of playout search; default: 4"
    parser.add_argument("--exploration", type=real(0, MAX_EXPLORATION), help=text)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
