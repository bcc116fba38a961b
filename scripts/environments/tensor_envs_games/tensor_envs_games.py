"""Games of tensor_envs, under a name by which verifiers finds them."""

from tensor_envs.adapters.verifiers import ChatHarness, GameEnv, GameTaskset, load_environment

__all__ = ["ChatHarness", "GameEnv", "GameTaskset", "load_environment"]
