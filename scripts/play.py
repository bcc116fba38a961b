"""Play the games in a browser, by clicking: `python scripts/play.py --help`."""

import sys

import command.first  # noqa: F401
from play.main import main

if __name__ == "__main__":
    sys.exit(main())
