"""Networks of JAX: a function and its parameters, evaluated for searches, and their names in files.

The function takes parameters and observations, float32 [B, *observation_shape], and returns logits [B, A] and values
[B] of the player to move. Parameters are nested dictionaries of arrays, as in Flax. Files name the function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tensor_envs._runtime.cuda import card_of, is_cuda
from tensor_envs._runtime.exchange import to_dlpack, to_numpy
from tensor_envs._validate import function as check_function
from tensor_envs._validate import need, shown, wrong_type
from tensor_envs.train.own_network import CHECKED, check_output, first_device, imported

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise ImportError("networks of JAX need it: pip install 'tensor_envs[jax]'") from None

if TYPE_CHECKING:
    from tinygrad import Tensor

    from tensor_envs._runtime.devices import DeviceName
    from tensor_envs.envs.env import Env
    from tensor_envs.envs.state import State

Parameters = dict[str, Any]  # nested dictionaries of arrays
SEPARATOR = "/"  # between the keys of nested dictionaries in the names of weights


class JaxNetwork:
    """Function of JAX with its parameters as the network of a game.

    Attributes:
        env: the environment.
        function: the function.
        parameters: its parameters, which are replaced when they change.
        value_scale: return that the function gives as a value of 1.
        place: device of JAX: the card of the games, the first of several, or the CPU.
    """

    def __init__(self, env: Env, pair: tuple[Any, Any], value_scale: float, device: DeviceName | None):
        """Copy the parameters to the games' device and try the function.

        Raises:
            TypeError: the pair is none of a function and nested dictionaries of float32 arrays, or the function returns
                anything but two arrays of a float dtype.
            ValueError: a tuple that is no pair, an empty dictionary among the parameters, or a function that returns
                arrays of other shapes, or numbers that are not finite.
        """
        if len(pair) != 2:
            raise ValueError(f"network must be a pair of a function and parameters, got a tuple of {len(pair)}")
        self.function: Callable[..., Any] = check_function("network[0]", pair[0])
        place = first_device(device)
        self.env = env
        self.value_scale = value_scale
        self.place = jax.devices("cuda")[card_of(place)] if is_cuda(place) else jax.devices("cpu")[0]
        self.assign_weights(flat(pair[1]))
        observation = self.array(env.observe(env.init(CHECKED, device=place)))
        check_output(env, self.function(self.parameters, observation.astype(jnp.float32)), jax.Array)
        self._evaluate = jax.jit(self._returns)

    def array(self, values: Tensor | np.ndarray) -> jax.Array:
        """Convert a Tensor or an array to an array of JAX on the network's device."""
        if not isinstance(values, np.ndarray):
            if is_cuda(str(values.device)):
                return jax.dlpack.from_dlpack(to_dlpack(values))
            values = to_numpy(values)
        return jax.device_put(values, self.place)

    def __call__(self, parameters: Parameters, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the function's logits [B, A] and values [B] for observations [B, n] of numbers or bools."""
        shape = (-1, *self.env.observation_shape)
        logits, value = self.function(parameters, observation.reshape(shape).astype(jnp.float32))
        return logits, value

    def evaluate(self, state: State) -> tuple[jax.Array, jax.Array]:
        """Evaluate positions for a search: logits [B, A], and returns [B] or, for every player, [B, P]."""
        return self._evaluate(self.parameters, self.array(self.env.observe(state)), self.array(state.current_player))

    def _returns(self, parameters: Parameters, observation: jax.Array, player: jax.Array) -> tuple[Any, Any]:
        players = self.env.num_players
        logits, value = self(parameters, observation)
        value = value * self.value_scale
        if players == 1 or (players == 2 and self.env.spec.zero_sum):
            return logits, value
        # the other players share the negated value equally: exact only in zero-sum games
        mover = player[:, None] == jnp.arange(players)
        return logits, jnp.where(mover, value[:, None], -value[:, None] / (players - 1))

    def weights(self) -> dict[str, np.ndarray]:
        """Return copies of the parameters by name."""
        return {name: np.array(array) for name, array in flat(self.parameters).items()}

    def assign_weights(self, arrays: Mapping[str, Any]) -> None:
        """Replace the parameters by the arrays of `weights`."""
        self.parameters = jax.device_put(nested(arrays), self.place)


def flat(parameters: Any, prefix: str = "") -> dict[str, Any]:
    """Return the arrays of nested dictionaries by name.

    Raises:
        TypeError: anything else, and other dtypes.
        ValueError: an inner dictionary that is empty.
    """
    if not isinstance(parameters, Mapping):
        if str(getattr(parameters, "dtype", "")) != "float32":
            name = prefix.removesuffix(SEPARATOR) or "network[1]"
            raise wrong_type(name, "of nested dictionaries of float32 arrays", parameters)
        return {prefix.removesuffix(SEPARATOR): parameters}
    arrays: dict[str, Any] = {}
    for key, part in parameters.items():
        if not isinstance(key, str) or not key or SEPARATOR in key:
            raise wrong_type("network[1]", f"of dictionaries with keys of type str without {SEPARATOR!r}", key)
        if isinstance(part, Mapping) and not part:  # a file names arrays alone
            raise ValueError(f"network[1] must be of dictionaries that are not empty, got one at {prefix + key!r}")
        arrays |= flat(part, f"{prefix}{key}{SEPARATOR}")
    return arrays


def nested(arrays: Mapping[str, Any]) -> Parameters:
    """Return the nested dictionaries that `flat` took apart."""
    result: Parameters = {}
    for name, array in arrays.items():
        *path, last = name.split(SEPARATOR)
        place = result
        for key in path:
            place = place.setdefault(key, {})
        place[last] = array
    return result


def architecture_of(function: Any) -> dict[str, Any]:
    """Return the name of a function. ValueError if it cannot be imported by its name."""
    if not hasattr(function, "__qualname__"):  # such as functools.partial
        raise ValueError(f"network[0] must be a function that can be imported by its name, got {shown(function)}")
    name = f"{function.__module__}:{function.__qualname__}"
    if imported(name) is not function:
        raise ValueError(f"network[0] must be a function that can be imported by its name, and {name!r} is another one")
    return {"function": name}


def build(architecture: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> tuple[Any, Parameters]:
    """Return the pair of a function, by its name, and its parameters. ValueError if it cannot be imported."""
    return imported(architecture["function"]), nested(weights)


def onnx_model(network: JaxNetwork) -> Any:
    """Return the ONNX model of a network, `onnx.ModelProto`, whose values are returns.

    Raises:
        ImportError: the extra `onnx-jax` is not installed.
        ValueError: the function works for known numbers of games alone.
    """
    jax2onnx = need("jax2onnx", "export to ONNX of a network of JAX", "onnx-jax")

    def function(observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, value = network.function(network.parameters, observation)
        return logits, value * network.value_scale

    log = logging.getLogger("onnx_ir.serde")
    log.disabled = True  # it warns of shapes of the file whose type jax2onnx leaves out
    try:
        shape = ("batch", *network.env.observation_shape)
        return jax2onnx.to_onnx(function, [shape], input_names=["observation"], output_names=["logits", "values"])
    except TypeError as error:
        wanted = "a function of any number of games, such as `observation.shape[0]` where it has `len(observation)`"
        raise ValueError(f"export to ONNX of a network of JAX must be of {wanted}: {error}") from error
    finally:
        log.disabled = False
