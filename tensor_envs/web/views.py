"""Pictures and texts of a game's positions, from the words of their states.

A static page has them as JavaScript (`javascript/`), the playground's Python calls them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensor_envs.render.moves import moves_for
from tensor_envs.render.prompt import prompt_text
from tensor_envs.render.scene import names_of, scene, seen
from tensor_envs.rules.actions import Actions
from tensor_envs.rules.plain import legal_actions

Past = list[tuple[list[int], int]]
Views = dict[str, Callable[..., Any]]


def views_of(title: str, rules: Any, notation: Any, render: Any, layout: Any) -> Views:
    """Return the functions `view`, `names`, `written` and `prompt` of a game.

    Args:
        title: what a prompt calls the game.
        rules, notation, render: the game's rules and its modules.
        layout: layout of its states.
    """

    def position(words: list[int]) -> dict[str, Any]:
        """Return the dictionary of a game from a state's words."""
        values = layout.plain(words)
        # pictures and texts show the end of a game by these flags, where the dictionary has none
        ends = {name: True for name in ("terminated", "truncated") if values[name]}
        return {**notation.to_dict(rules, values), **ends}

    def view(
        words: list[int], player: int | None, moves: list[str], actions: list[int], past: Past, over: bool
    ) -> dict[str, Any]:
        """Return what a table shows of a position, see `render/scene.py`.

        Args:
            words: those of the state.
            player: the viewer; with None nothing is hidden.
            moves: names of the moves so far.
            actions: legal actions to explain.
            past: the words before the latest moves, and their actions.
            over: whether the game has ended.
        """
        # phrases of all moves need their positions, a mark needs the last one
        needed = past if getattr(render, "SPOKEN", False) else past[-1:]
        before = [(position(earlier), action) for earlier, action in needed]
        return scene(rules, render, position(words), player, moves, actions, before, over)

    def names(words: list[int], actions: list[int]) -> list[str]:
        """Return the names of legal actions, as `Env.legal_actions` gives them."""
        if hasattr(notation, "move_to_string"):
            values = layout.plain(words)
            return [notation.move_to_string(rules, action, values) for action in actions]
        if hasattr(notation, "action_to_string"):
            return [notation.action_to_string(rules, action) for action in actions]
        parts = getattr(rules, "actions", None)
        return [parts.name(action) if isinstance(parts, Actions) else str(action) for action in actions]

    def written(words: list[int], action: int) -> str:
        """Return a move as the game's own notation has it in lists of moves, such as "Nf3"; "" in other games."""
        # only some games, such as chess, have a notation beside the names of actions
        if not hasattr(notation, "san"):
            return ""
        values = layout.plain(words)
        return notation.san(rules, action, values, legal_actions(rules, values))

    def prompt(words: list[int], player: int | None, moves: list[tuple[int, str]], legal: list[str]) -> str:
        """Return a position as text for a player, as `te.text.prompt` does.

        Args:
            words: as for `view`.
            player: the one who is asked; None: the player to move.
            moves: players and names of the moves so far.
            legal: names of the legal moves.
        """
        whole = position(words)
        mover = layout.plain(words)["current_player"]
        asked = mover if player is None else player
        # the position and the moves omit what is hidden from the asked player
        shown = seen(rules, render, whole, asked)
        visible = moves_for(rules, render, moves, whole, shown, asked)
        turn = None if whole.get("terminated") or whole.get("truncated") else mover
        players = names_of(rules, render, whole)
        board = render.to_string(rules, shown).rstrip()
        return prompt_text(title, players, asked, turn, board, visible, legal)

    return {"view": view, "names": names, "written": written, "prompt": prompt}
