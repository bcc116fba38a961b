"""Shed solved, who wins and how: `python scripts/shed.py --help`."""

import sys

import command.first  # noqa: F401
from shed.main import main

if __name__ == "__main__":
    sys.exit(main())
