"""Play random games in this package and in another engine side by side, and print the first difference.

    python -m tensor_envs.compare connect_four --with open_spiel pgx envpool
    python -m tensor_envs.compare chess --with reference      # in a checkout: the tests' plain-Python engine
    python -m tensor_envs.compare hex --with mine.engine:Hex  # a class of your own, see `engines.PlainPython`
    python -m tensor_envs.compare connect_four --rules rows=5 --with open_spiel

Both engines get the same actions, cards, dice and tiles; legal actions, players to move, ends and returns are compared
at every ply. A difference is reduced to few plies, and printed with both boards. The status is 1 if there is one.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tensor_envs._command import Failure, add_rules, command_parser, real, run, whole
from tensor_envs.compare.engines import ENGINES, engine_of
from tensor_envs.compare.search import first_difference, report
from tensor_envs.envs.registry import make


def work(options: argparse.Namespace) -> None:
    env = make(options.game, **dict(options.rules))
    different = list[str]()
    for name in options.engines:
        result = first_difference(env, engine_of(name, env), options.games, options.seconds, options.seed)
        print(report(env, name, *result), end="\n\n" if result[0] else "\n")
        different += [name] if result[0] else []
    if different:
        raise Failure(f"{env.id} differs from {', '.join(different)}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = command_parser("python -m tensor_envs.compare", __doc__)
    parser.add_argument("game", metavar="GAME", help="a registered game")
    add_rules(parser)
    text = f"{', '.join(ENGINES)}, reference, or package.module:Class"
    parser.add_argument("--with", dest="engines", nargs="+", required=True, metavar="ENGINE", help=text)
    parser.add_argument("--games", type=whole(1), default=20, metavar="N", help="games to play; default: %(default)s")
    text = "time to make a difference shorter; default: %(default)s"
    parser.add_argument("--seconds", type=real(0, 86_400), default=30, metavar="S", help=text)
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N", help="default: %(default)s")
    run(parser, work, arguments)


if __name__ == "__main__":
    main()
