"""Measure speed of steps, search or equilibria: `python scripts/benchmark.py [--search | --equilibrium] --help`."""

import sys

from benchmark import equilibrium, main, search

if __name__ == "__main__":
    (search if "--search" in sys.argv else equilibrium if "--equilibrium" in sys.argv else main).main()
