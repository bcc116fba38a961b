"""Write a game as one file for other programs: C, CUDA, WGSL or WebAssembly.

    python -m tensor_envs.export connect_four --to c connect_four.c
    python -m tensor_envs.export hyper_tic_tac_toe --rules "shape=(4, 4)" k=4 --to wasm game.wasm
    python -m tensor_envs.export my_games:GAME --to cuda game.cu    # a custom game

The header of a source states its functions, the layout of its arrays and their sizes. A WebAssembly module has these
as JSON in its custom section "tensor_envs".
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tensor_envs._command import add_rules, command_parser, run
from tensor_envs._engine.batch_layout import LANES
from tensor_envs.envs.registry import make, registered
from tensor_envs.export import TARGETS, export


def work(options: argparse.Namespace) -> None:
    export(make(options.id, **dict(options.rules)), options.to, options.out, options.lanes)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.export", __doc__)
    text = f"a game: {', '.join(registered())}, or package.module:Name for a custom game"
    parser.add_argument("id", metavar="ID", help=text)
    parser.add_argument("out", metavar="OUT", help="the file; an earlier export is overwritten, any other file is not")
    parser.add_argument("--to", choices=TARGETS, required=True, help="the language of the file")
    add_rules(parser)
    text = "games per block, a power of two in 1..64; with 1 a state is a plain array of words; default: %(default)s"
    parser.add_argument("--lanes", type=int, default=LANES, help=text)
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
