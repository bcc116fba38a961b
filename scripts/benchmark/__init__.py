"""Parts of `scripts/benchmark.py`, and two more commands: `kernel_table.py` and `gpu_kernels.py`."""
