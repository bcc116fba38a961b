"""The drawing kit of the games' pictures, and what puts pictures together."""

from tensor_envs.render.drawing import Drawing

__all__ = ["Drawing"]
