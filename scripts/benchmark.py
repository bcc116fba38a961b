"""Measure speed: `python scripts/benchmark.py --help`, or `... --search --help`, --equilibrium, --network, ..."""

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's, read at its import; measurements are on one core

from benchmark import equilibrium, main, network, search, settings, strength, training

MODES = {
    "--search": search,
    "--strength": strength,
    "--equilibrium": equilibrium,
    "--network": network,
    "--training": training,
    "--settings": settings,
}

if __name__ == "__main__":
    next((module for option, module in MODES.items() if option in sys.argv), main).main()
