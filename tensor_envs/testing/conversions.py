"""Checks of conversions: dictionaries, names of actions, pictures, files and symmetries."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from tensor_envs._runtime.devices import DeviceName
from tensor_envs.envs.env import Env
from tensor_envs.envs.sampling import uniform
from tensor_envs.envs.state import State
from tensor_envs.files.states import load_state, save_state
from tensor_envs.rules import Symmetry
from tensor_envs.solve.field_maps import FieldMaps
from tensor_envs.testing.conditions import (
    BATCH,
    MANY,
    SEED,
    ConformanceError,
    over,
    playing,
    require,
    require_equal,
    short,
    waiting,
)

NAMED_PLIES = 24  # plies whose action names are checked where they depend on the position


def check_dictionaries(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that states survive conversion to dictionaries, that wrong dictionaries raise, and the names of actions."""
    start = env.init(1, SEED, device)
    # Names: of legal actions and, where a name needs no position, of some others.
    names = env.legal_actions(start)
    if not env.names_depend_on_position:
        names |= {a: env.action_to_string(a) for a in (0, env.num_actions // 2, env.num_actions - 1)}
    check_names(env, names, start if env.names_depend_on_position else None)
    if env.names_depend_on_position:
        # Later positions have other kinds of moves, such as promotions. Each ply has another game checked.
        state = env.init(BATCH, SEED, device)
        for ply in range(NAMED_PLIES):
            check_names(env, env.legal_actions(state, ply % BATCH), state, ply % BATCH)
            state = env.step(state, uniform(state))
    # States: early ones, and those of the first ply that ends a game, which have flags and rewards of their own.
    env = short(env)
    state = env.init(BATCH, SEED, device)
    compared = 0
    for step in waiting(steps, "no game ended"):
        ended = bool(over(state.numpy()).any())
        if ended or step == min(steps, 5):
            # Games that an illegal action has ended are states as well.
            states = [state, env.step(state, np.full(BATCH, -1))] if env.illegal == "lose" else [state]
            for played in states:
                games = [env.state_to_dict(played, i) for i in range(BATCH)]
                reloaded = env.state_from_dicts(games, SEED, device)
                restored = reloaded.numpy()
                before = played.numpy()
                for name in ("key", "episode", "rewards"):  # a dictionary has none of them
                    restored.pop(name, None)
                require_equal(restored, before, "from a dictionary")
                same = (env.observe(reloaded, 0).numpy() == env.observe(played, 0).numpy()).all()
                require(same, "another observation from a dictionary")
                compared += BATCH
        if ended and step >= min(steps, 5):
            break
        state = env.step(state, uniform(state))
    # Mistakes must be errors instead of states.
    for foreign in ({}, {"no such field": 0}):
        try:
            env.state_from_dicts([foreign], SEED, device)
        except ValueError:
            continue
        raise ConformanceError(f"the dictionary {foreign} was taken for a state")
    return f"{compared} games"


def check_names(env: Env, names: dict[int, str], state: State | None, row: int = 0) -> None:
    """Check that names of actions lead back to them, in one game of a state if there is one."""
    for action, name in names.items():
        action_of_name = env.string_to_action(name, state, row)
        require(action_of_name == action, f"the name {name!r} does not lead back to action {action}")


def check_pictures(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that a game has a text and an SVG."""
    state = playing(env, min(steps, 5), device)
    require(env.to_string(state).strip(), "no text")
    require(env.render(state).startswith("<svg"), "no SVG")
    return "1 game"


def check_saving(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that a saved state loads bit for bit and plays on equally."""
    state = playing(env, 1, device)
    with tempfile.TemporaryDirectory() as folder:
        save_state(state, Path(folder) / "state.safetensors")
        loaded = load_state(Path(folder) / "state.safetensors", device)
    for _ in range(2):
        require_equal(state.numpy(), loaded.numpy(), "a loaded state")
        state = env.step(state, uniform(state))
        loaded = loaded.env.step(loaded, uniform(loaded))
    return f"{BATCH} games"


def check_symmetries(env: Env, steps: int, device: DeviceName | None) -> str:
    """Check that symmetries map masks, rewards, ends, player 0's observations and the fields."""
    symmetries = list(islice(env.symmetries(), 9))
    size = math.prod(env.observation_shape)
    identity = tuple(range(env.num_actions)), tuple(range(size))
    require(
        symmetries and (symmetries[0].actions, symmetries[0].observation) == identity,
        f"{env.entry.load('notation').__name__}.symmetries must yield the identity first: "
        f"Symmetry(tuple(range({env.num_actions})), tuple(range({size})), {{}})",
    )
    layout = env.engine.layout
    maps = FieldMaps(env.spec, layout, symmetries)
    permutations = iter(maps.permutations[symmetries[0].fields is not None :])
    for symmetry in symmetries[1:]:
        sources = next(permutations) if symmetry.fields is not None else None
        actions = np.array(symmetry.actions)
        # new[i] = old[map[i]]: the action that old action a becomes is the i with map[i] = a
        back = np.argsort(actions)
        plain = image = env.init(BATCH, SEED, device)
        for _ in range(min(steps, 8)):
            one = plain.numpy()
            two = image.numpy()
            mapped = one["legal_action_mask"][:, actions]
            require((two["legal_action_mask"] == mapped).all(), "a symmetry maps the mask otherwise")
            require((two["rewards"] == one["rewards"]).all(), "a symmetry changes the rewards")
            require((over(two) == over(one)).all(), "a symmetry changes the end")
            if sources is not None:
                before, after = (bits_of(maps, state) for state in (plain, image))
                require((before[:, sources] == after[:, : len(sources)]).all(), "a symmetry maps the fields otherwise")
            chosen = uniform(plain).numpy()
            plain = env.step(plain, chosen)
            image = env.step(image, back[chosen])
        observed = env.observe(plain, 0).numpy().reshape(BATCH, -1)[:, np.array(symmetry.observation)]
        same = (env.observe(image, 0).numpy().reshape(BATCH, -1) == observed).all()
        require(same, "a symmetry maps observations otherwise")
    check_derived(env, symmetries, maps, steps, device)
    return f"{len(symmetries) - 1} beside the identity"


def bits_of(maps: FieldMaps, state: State) -> np.ndarray:
    """Return the bits that identify the positions of games, uint8 [B, bits]."""
    return np.unpackbits(maps.packed(state.buffers.layout.download(state.buffers.words)), axis=1, bitorder="little")


def check_derived(
    env: Env, symmetries: Sequence[Symmetry], maps: FieldMaps, steps: int, device: DeviceName | None
) -> None:
    """Check that fields which symmetries call derived are equal in games whose other fields are equal."""
    derived = {name for symmetry in symmetries for name in symmetry.derived}
    state = env.init(MANY, SEED, device)
    for _ in range(min(steps, 8) if derived else 0):
        values = state.numpy()
        first = dict[bytes, int]()
        alike = [first.setdefault(bits.tobytes(), i) for i, bits in enumerate(bits_of(maps, state))]
        for name in derived:
            same = (values[name] == values[name][alike]).all()
            require(same, f"field {name!r} does not follow from the other fields, so a symmetry must not derive it")
        state = env.step(state, uniform(state))
