"""Play the games in a browser, by clicking: `python -m tensor_envs.play`, as a script."""

import sys
from collections.abc import Sequence

import command.first  # noqa: F401
from command import Parser, run
from tensor_envs.play import __main__ as play


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("play.py", play.__doc__)
    play.add_arguments(parser)
    return run(parser, play.work, arguments)


if __name__ == "__main__":
    sys.exit(main())
