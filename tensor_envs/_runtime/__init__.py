"""Devices, buffers, programs and launches: the only room that uses more of tinygrad than its public names."""
