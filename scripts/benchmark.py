"""Measure steps and simulations per second: `python scripts/benchmark.py [--search] --help`."""

import sys

from benchmark import main, search

if __name__ == "__main__":
    (search if "--search" in sys.argv else main).main()
