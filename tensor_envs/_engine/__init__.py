"""Game states and the kernels that work on them."""
