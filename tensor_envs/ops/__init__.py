"""Tensor operations on custom boards: straight lines in any number of dimensions."""

from tensor_envs.ops.convolution import kronecker_delta, line_convolution, line_kernels
from tensor_envs.ops.lines import line_directions, num_directions, num_lines, placements, starts
from tensor_envs.ops.winner import Line, count_lines, find_lines, winner

__all__ = [
    "Line",
    "count_lines",
    "find_lines",
    "kronecker_delta",
    "line_convolution",
    "line_directions",
    "line_kernels",
    "num_directions",
    "num_lines",
    "placements",
    "starts",
    "winner",
]
