"""Boards on which a player sees the own stones, and of the opponent's those that an attempt on their cell has found.

Rules, dictionaries and views of such games, whose boards have up to 32 cells. A state holds three sets of cells, each
in one word: the stones of the player to move, those of the opponent, and all stones that their opponents have found.
"""

from collections.abc import Sequence
from typing import Any

from tensor_envs._validate import nested
from tensor_envs.games._kit import stones
from tensor_envs.render.status import outcome, to_move
from tensor_envs.rules import Scalar, bit, int32, nth_bit, popcount, repeat, uint32, where
from tensor_envs.rules.chance import Chance
from tensor_envs.rules.observation import Observation, bits
from tensor_envs.rules.plain import ended
from tensor_envs.rules.spec import Field, GameState, Mask, Outcome, Spec

TRIES = 32  # samples of hidden stones, for one with which the game goes on
COUNTERS = 64  # random values of a sample


class HiddenStones:
    """Rules of a board with hidden stones; a subclass is a dataclass with these rule fields.

    Attributes:
        size: cells a side.
        abrupt: whether a failed attempt ends the turn.
    """

    size: int
    abrupt: bool

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.size**2

    @property
    def board(self) -> int:
        """Set of all cells."""
        return 2**self.cells - 1

    @property
    def spec(self) -> Spec:
        fields = tuple(Field(name, high=self.board) for name in ("own", "other", "found"))
        return Spec(2, self.cells, (3, self.size, self.size), fields, perfect_information=False)

    def has_won(self, stones: Scalar, player: Scalar) -> Scalar:
        """Return whether a player with these stones has won."""
        raise NotImplementedError

    def init(self, chance: Chance) -> dict[str, Any]:
        return {}

    def legal_action_mask(self, s: GameState) -> Mask:
        """Return the cells on which the player to move knows no stone."""
        return [uint32(self.board & ~(s.own | s.other & s.found))]

    def step(self, s: GameState, action: Scalar, chance: Chance) -> Outcome:
        cell = int32(bit(action))
        fails = (s.other & cell) != 0
        own = s.own | where(fails, 0, cell)
        again = fails & (not self.abrupt)
        won = ~fails & self.has_won(uint32(own), s.current_player)
        after = s.replace(
            own=where(again, own, s.other),
            other=where(again, s.other, own),
            found=s.found | s.other & cell,
            current_player=where(again, s.current_player, 1 - s.current_player),
        )
        return Outcome.win(after, s.current_player, won).draw((own | s.other) == self.board)

    def observe(self, s: GameState, player: Scalar) -> Observation:
        """Return the player's stones, the opponent's stones that the player has found, and the player's number."""
        own, other = sides(s, player)
        seat = where(player == 0, self.board, 0)
        planes = {
            "own stones": own,
            "the opponent's stones that are found": other & s.found,
            "the player is first": seat,
        }
        return {name: bits(uint32(cells), self.cells) for name, cells in planes.items()}

    def determinize(self, s: GameState, player: Scalar, chance: Chance) -> GameState:
        """Resample the opponent's hidden stones, and which of the player's stones the opponent has found.

        All states that the player may be in are equally likely. In the abrupt game each turn of the opponent has placed
        a stone or found one, so that a set of their cells is drawn as a whole.
        """
        own, other = sides(s, player)
        revealed = other & s.found
        seen = own & s.found
        hidden = other & ~s.found
        pools = [self.board & ~revealed] if self.abrupt else [self.board & ~(revealed | own), own]
        drawn = [hidden | seen] if self.abrupt else [hidden, seen]

        def is_over(chosen: Scalar) -> Scalar:
            """Return whether the game would have ended with these cells of the opponent."""
            theirs = revealed | int32(chosen) & ~own
            return self.has_won(uint32(theirs), 1 - player) | ((theirs | own) == self.board)

        def resampled(values: list[Scalar]) -> list[Scalar]:
            chosen, sample = values
            over = is_over(chosen)
            new = uint32(0)
            for k, (pool, cells) in enumerate(zip(pools, drawn, strict=True)):
                first = sample * COUNTERS + k * COUNTERS // len(pools)
                new |= subset(uint32(pool), popcount(uint32(cells)), chance, first, self.cells)
            return [where(over, new, chosen), sample + uint32(over)]

        chosen, _ = repeat(TRIES, [uint32(self.board), uint32(0)], resampled)
        chosen = where(is_over(chosen), hidden | seen, int32(chosen))
        theirs = revealed | chosen & ~own
        moves = s.current_player == player
        return s.replace(own=where(moves, own, theirs), other=where(moves, theirs, own), found=revealed | chosen & own)


def sides(s: GameState, player: Scalar) -> tuple[Scalar, Scalar]:
    """Return the stones of a player and those of the opponent."""
    moves = s.current_player == player
    return where(moves, s.own, s.other), where(moves, s.other, s.own)


def subset(cells: Scalar, count: Scalar, chance: Chance, counter: Scalar, size: int) -> Scalar:
    """Return `count` random members of a set with members 0..size-1; all such subsets are equally likely."""

    def taken(values: list[Scalar]) -> list[Scalar]:
        """Draw a member without replacement, unless all wanted ones are drawn."""
        rest, wanted = values
        member = bit(nth_bit(rest, chance.draw(counter + wanted, popcount(rest))))
        return [where(wanted != 0, rest & ~member, rest), where(wanted != 0, wanted - 1, 0)]

    rest, _ = repeat(size, [cells, uint32(count)], taken)
    return cells & ~rest


def to_dict(rules: HiddenStones, s: dict[str, Any]) -> dict[str, Any]:
    """Return {"board": flat list of 1, -1, 0, "found": flat list of 0, 1, "current_player": 0 or 1}."""
    sets = s | {"own": [s["own"]], "other": [s["other"]]}
    return stones.to_dict(rules, sets) | {"found": [s["found"] >> cell & 1 for cell in range(rules.cells)]}


def from_dict(rules: HiddenStones, game: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a dictionary: the inverse of `to_dict`."""
    board, player = stones.board_and_player(game, rules.cells)
    found = nested("found", game["found"], (rules.cells,), 0, 1)
    if empty := [cell for cell in range(rules.cells) if found[cell] and not board[cell]]:
        raise ValueError(f"found must be 0 on empty cells, got 1 on cell {empty[0]}")
    [own], [other] = stones.to_sets(board, player)
    bits_found = sum(bit << cell for cell, bit in enumerate(found))
    fields = {"own": own, "other": other, "found": bits_found, "current_player": player}
    return fields | ended(is_over(rules, game)) | {"ply": plies(board, found)}


def winner(rules: HiddenStones, board: list[int]) -> int | None:
    """Return the player who has won, or None."""
    sets = (stones.words_of(board, stone)[0] for stone in stones.STONES)
    return next((p for p, own in enumerate(sets) if rules.has_won(uint32(own), int32(p)).value), None)


def plies(board: list[int], found: list[int]) -> int:
    """Return the number of attempts, each of which has placed or found a stone."""
    return len(board) - board.count(0) + sum(found)


def is_over(rules: HiddenStones, game: dict[str, Any]) -> bool:
    """Return whether a player has won or the board is full."""
    return 0 not in game["board"] or winner(rules, game["board"]) is not None


def seen_by(rules: HiddenStones, game: dict[str, Any], player: int) -> dict[str, Any]:
    """Return the game as a player sees it. The number of attempts is known to all."""
    if is_over(rules, game):
        return game
    own = stones.STONES[player]
    cells = list(zip(game["board"], game["found"], strict=True))
    board = [stone if found or stone == own else 0 for stone, found in cells]
    found = [int(found and stone != own) for stone, found in cells]
    return game | {"board": board, "found": found, "ply": plies(game["board"], game["found"])}


def visible_moves(rules: HiddenStones, moves: Sequence[str], player: int) -> list[str]:
    """Return the names of all attempts, "?" for those of the opponent."""
    names = list[str]()
    taken = set[str]()
    mover = 0
    for name in moves:
        names.append(name if mover == player else "?")
        if name not in taken or rules.abrupt:
            mover = 1 - mover
        taken.add(name)
    return names


def open_cells(rules: HiddenStones, game: dict[str, Any]) -> list[int]:
    """Return the legal actions of a game."""
    if game.get("terminated") or is_over(rules, game):
        return []
    own = stones.STONES[game["current_player"]]
    cells = zip(game["board"], game["found"], strict=True)
    return [cell for cell, (stone, found) in enumerate(cells) if stone != own and not (stone and found)]


def signs(game: dict[str, Any]) -> list[str]:
    """Return "X", "O" or "." for each cell, in lower case for stones that the opponent has found."""
    cells = zip(game["board"], game["found"], strict=True)
    return [stones.SIGNS[stone].lower() if found else stones.SIGNS[stone] for stone, found in cells]


def status(rules: HiddenStones, game: dict[str, Any], names: Sequence[str]) -> str:
    """Return the status: the winner, a draw, or the player to move with the number of the attempt."""
    won = winner(rules, game["board"])
    if won is not None:
        return outcome(names, won)
    if 0 not in game["board"]:
        return outcome(names, None)
    attempts = game.get("ply", plies(game["board"], game["found"]))
    return f"{to_move(game, names[game['current_player']])}, attempt {attempts + 1}"
