"""Check games on a CUDA card against the CPU, and measure them; see `benchmark/card.py`."""

from benchmark.card import main

if __name__ == "__main__":
    main()
