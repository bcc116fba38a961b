"""Files of a game tree: a folder with a NumPy file for each array, and one with metadata and their digests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tensor_envs.envs.registry import env_of, words_metadata
from tensor_envs.envs.state import State
from tensor_envs.equilibria.ends import SortedEnds
from tensor_envs.equilibria.sequence_form import forms_of
from tensor_envs.equilibria.storage import Storage, digests, map_arrays
from tensor_envs.equilibria.tree_parts import Parts, belief_of
from tensor_envs.files.arrays import read_arrays, write_arrays
from tensor_envs.solve.branches import Branches, start_arrays, start_of
from tensor_envs.solve.packed import Packed

TREE_FILE = "tree.safetensors"
FORMAT = "tensor_envs game tree 1"
STATES = ("player", "ply", "view", "before", "level", "counts", "actions")  # arrays of information states


def write_tree(parts: Parts, folder: Path) -> None:
    """Write the files of a tree that `Storage` has not written; the file that makes the tree complete comes last."""
    storage = parts.forms[0].storage
    for name in STATES:
        storage.save(name, parts.states[name])
    storage.save("views", parts.views.keys)
    for form in parts.forms:
        storage.save(f"ends{form.player}_sequences", form.ends.sequences)
        storage.save(f"ends{form.player}_starts", form.ends.starts)
    # All arrays are written now. A folder without this file is no tree.
    metadata = {"env": words_metadata(parts.game.env), "nodes": parts.nodes, "files": digests(folder)}
    arrays = {"base": parts.views.base, "varying": parts.views.varying} | start_arrays(parts.game.origin)
    if isinstance(parts.game.origin, State):
        arrays["weights"] = parts.belief.weights.view(np.uint64)
    write_arrays(folder / TREE_FILE, FORMAT, metadata, arrays)


def read_tree(folder: Path) -> Parts:
    """Return the parts of a tree in a folder. FileNotFoundError for no folder, ValueError for one without a tree."""
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {str(folder)!r}")
    try:
        metadata, arrays = read_arrays(folder / TREE_FILE, FORMAT)
        game = Branches(start_of(env_of(metadata["env"]), arrays))
        belief = belief_of(game, np.array(arrays["weights"]).view(np.float64) if "weights" in arrays else None)
        files = map_arrays(folder, metadata["files"])
        storage = Storage(folder)
        if files["words"].shape[1] != game.layout.words:
            raise ValueError(f"its states are not those of {game.env!r}")
        ends = []
        for p in range(game.spec.num_players):
            sequences, starts, chance, payoffs, *others = (
                files[f"ends{p}_{name}"] for name in ("sequences", "starts", *range(game.spec.num_players + 1))
            )
            ends.append(SortedEnds(sequences, starts, chance, payoffs, others))
        views = Packed(arrays["base"], arrays["varying"], files["views"])
        return Parts(game, belief, files, views, forms_of(files, ends, storage), metadata["nodes"])
    except FileNotFoundError:
        raise ValueError(f"{str(folder)!r} holds no whole game tree: there is no file {TREE_FILE!r}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"{str(folder)!r} holds no game tree that can be read: {error}") from None
