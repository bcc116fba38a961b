"""Play the games in a browser, by clicking: `python scripts/play.py --help`."""

import sys

from play.main import main

if __name__ == "__main__":
    sys.exit(main())
