"""Views of a game's rules: source and size of their kernels, and the same rules run as plain Python."""
