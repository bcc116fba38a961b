"""Translation of plain Python functions to JavaScript, for pages that have no Python."""

from tensor_envs.web.javascript.program import module

__all__ = ["module"]
