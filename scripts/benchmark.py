"""Measure speed of steps, search or equilibria: `python scripts/benchmark.py [--search | --equilibrium] --help`."""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's, read at its import; measurements are on one core

from benchmark import equilibrium, main, search

if __name__ == "__main__":
    (search if "--search" in sys.argv else equilibrium if "--equilibrium" in sys.argv else main).main()
