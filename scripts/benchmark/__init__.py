"""The parts of `scripts/benchmark.py`, and two commands of their own: `kernel_table.py` and `gpu_kernels.py`."""
