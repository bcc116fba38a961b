"""Drawings, small pictures for the web page, and compositions of SVG documents."""

from tensor_envs.render.drawing import Drawing

__all__ = ["Drawing"]
