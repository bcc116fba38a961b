"""What holds of every test run."""

import os

# tinygrad compiles the kernels of a graph in a pool of processes: for the many small graphs of tests, starting these
# costs more than they save, in this process and in those that tests start.
os.environ.setdefault("PARALLEL", "0")
