"""Measure speed: `python scripts/benchmark.py [--search | --equilibrium | --network] --help`."""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's, read at its import; measurements are on one core

from benchmark import equilibrium, main, network, search

MODES = {"--search": search, "--equilibrium": equilibrium, "--network": network}

if __name__ == "__main__":
    next((module for option, module in MODES.items() if option in sys.argv), main).main()
