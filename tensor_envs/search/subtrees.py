"""Subtrees of searches, which later searches resume."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tinygrad import Tensor

from tensor_envs._engine.inputs import host_ints
from tensor_envs._runtime.buffers import upload
from tensor_envs._validate import instance
from tensor_envs.search.tree import SearchTree


def subtree(tree: SearchTree, action: Tensor | np.ndarray | Sequence[int]) -> SearchTree:
    """Return the part of a search's trees below an action.

    For several actions, call it once per action: `subtree(subtree(tree, mine), theirs)`. The next search of these
    positions resumes the trees with `tree=`, visits and values included. If the action was never tried or ended the
    game, the tree is empty.

    Args:
        tree: the `search_tree` of a search with `keep_tree=True`.
        action: integers [B], a legal action of every game; any action in a game that is over.

    Returns:
        A tree with the visits and values below the action.

    Raises:
        ValueError: a tree of a search without `keep_tree`; actions of another shape or out of range.
        TypeError: `tree` is no SearchTree, or `action` is not of integers.

    Examples:
        >>> env = te.make("tic_tac_toe")
        >>> state = env.init(2)
        >>> output = te.search.playout_policy(state, 64, keep_tree=True)
        >>> state = env.step(state, output.action)
        >>> tree = te.search.subtree(output.search_tree, output.action)
        >>> before = tree.visit_counts.sum(1)
        >>> after = te.search.playout_policy(state, 64, tree=tree).search_tree.visit_counts.sum(1)
        >>> (after - before).tolist()
        [64, 64]
    """
    instance("tree", tree, SearchTree)
    layout = tree._layout
    if tree._whole is None:
        raise ValueError("tree must be that of a search with keep_tree=True")
    actions = host_ints("action", action, layout.batch, tree._actions)
    subtrees = tree._whole.under(actions)
    numbers = upload(layout.padded(subtrees.numbers(tree._actions)), layout.device)
    return SearchTree(tree._env.step(tree._state, actions), layout, numbers, subtrees)
