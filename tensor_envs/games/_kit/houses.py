"""Observation of games with a row of houses and a store for each player (Kalah and oware), the mover's houses first."""

from tensor_envs.rules import GameState, Part, Scalar, number, where


def observed(s: GameState, player: Scalar) -> dict[str, Part | list[Part]]:
    """Return the seeds of the player and of the opponent, and whether the player is to move."""
    moves = s.current_player == player
    n = len(s.houses) // 2
    sides, stores = (s.houses[:n], s.houses[n:]), [*s.stores]
    own = where(moves, *sides)
    other = where(moves, *sides[::-1])
    own_store, other_store = where(moves, stores, stores[::-1])
    return {
        "seeds of own houses": [*map(number, own)],
        "own store": number(own_store),
        "seeds of the opponent's houses": [*map(number, other)],
        "the opponent's store": number(other_store),
        "whether the player moves": number(moves),
    }
