"""Steps a second of the environments and of their peers: `python scripts/benchmark.py --help`."""

import sys

import command.first  # noqa: F401
from benchmark.main import main

if __name__ == "__main__":
    sys.exit(main())
