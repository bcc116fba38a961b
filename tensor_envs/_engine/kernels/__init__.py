"""Kernels: what is done with every game of a batch, one small class each."""
