"""The games, a folder each; a folder's `GAME` makes it known to `tensor_envs.make`."""
