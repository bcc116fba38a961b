"""States of games, and the kernels that work on them."""
