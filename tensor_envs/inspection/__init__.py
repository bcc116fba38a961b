"""What the engine makes of rules: source and size of kernels, and the same rules run as plain Python."""
