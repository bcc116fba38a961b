"""The drawing kit of the games' pictures."""

from tensor_envs.render.drawing import Drawing

__all__ = ["Drawing"]
