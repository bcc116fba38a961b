"""Types of `te.make` for each game. Written by `python scripts/known_games.py`."""

from typing import Any, Literal, overload

from tinygrad.tensor import Tensor

from tensor_envs.envs.env import Env, Illegal
from tensor_envs.envs.state import State
from tensor_envs.games.amazons.rules import Amazons
from tensor_envs.games.backgammon.rules import Backgammon
from tensor_envs.games.barrage_stratego.rules import BarrageStratego
from tensor_envs.games.breakthrough.rules import Breakthrough
from tensor_envs.games.checkers.rules import Checkers
from tensor_envs.games.chess.rules import Chess
from tensor_envs.games.chinese_checkers.rules import ChineseCheckers
from tensor_envs.games.clobber.rules import Clobber
from tensor_envs.games.connect_four.rules import ConnectFour
from tensor_envs.games.dark_hex.rules import DarkHex
from tensor_envs.games.dots_and_boxes.rules import DotsAndBoxes
from tensor_envs.games.game_2048.rules import Game2048
from tensor_envs.games.gin_rummy.rules import GinRummy
from tensor_envs.games.go.rules import Go
from tensor_envs.games.hanabi.rules import Hanabi
from tensor_envs.games.havannah.rules import Havannah
from tensor_envs.games.hex.rules import Hex
from tensor_envs.games.hyper_tic_tac_toe.rules import HyperTicTacToe
from tensor_envs.games.kalah.rules import Kalah
from tensor_envs.games.kuhn_poker.rules import KuhnPoker
from tensor_envs.games.leduc_poker.rules import LeducPoker
from tensor_envs.games.liars_dice.rules import LiarsDice
from tensor_envs.games.lines_of_action.rules import LinesOfAction
from tensor_envs.games.nine_mens_morris.rules import NineMensMorris
from tensor_envs.games.othello.rules import Othello
from tensor_envs.games.oware.rules import Oware
from tensor_envs.games.phantom_tic_tac_toe.rules import PhantomTicTacToe
from tensor_envs.games.quoridor.rules import Quoridor
from tensor_envs.games.shed.rules import Shed
from tensor_envs.games.shogi.rules import Shogi
from tensor_envs.games.tensor_equilibrium.rules import TensorEquilibrium
from tensor_envs.games.tensor_stars.rules import StarsRules
from tensor_envs.games.texas_holdem.rules import TexasHoldem
from tensor_envs.games.three_will.rules import ThreeWillRules
from tensor_envs.games.ultimate_tic_tac_toe.rules import UltimateTicTacToe
from tensor_envs.games.xiangqi.rules import Xiangqi
from tensor_envs.games.y.rules import Y
from tensor_envs.games.yahtzee.rules import Yahtzee

class KnownState(State):
    __getattr__: None  # type: ignore[assignment,misc] # fields are attributes of the subclasses
    current_player: Tensor
    ply: Tensor
    episode: Tensor

class Game2048State(KnownState):
    key: Tensor
    board: Tensor

class AmazonsState(KnownState):
    own: Tensor
    other: Tensor
    arrows: Tensor
    active: Tensor
    phase: Tensor

class ShogiState(KnownState):
    own: Tensor
    other: Tensor
    pieces: Tensor
    hands: Tensor
    checks: Tensor
    repeats: Tensor
    starts: Tensor
    ends: Tensor
    before: Tensor
    after: Tensor
    captured: Tensor
    held: Tensor
    changes: Tensor
    known: Tensor

class BackgammonState(KnownState):
    key: Tensor
    men: Tensor
    dice: Tensor

class BarrageStrategoState(KnownState):
    squares: Tensor
    moved: Tensor
    shown: Tensor
    placed: Tensor
    back: Tensor
    times: Tensor
    quiet: Tensor

class BreakthroughState(KnownState):
    own: Tensor
    other: Tensor

class CheckersState(KnownState):
    own: Tensor
    other: Tensor
    kings: Tensor
    jumper: Tensor
    quiet: Tensor

class ChessState(KnownState):
    own: Tensor
    other: Tensor
    pawns: Tensor
    knights: Tensor
    diagonals: Tensor
    lines: Tensor
    quiet: Tensor
    reversible: Tensor
    repeats: Tensor
    history: Tensor

class ChineseCheckersState(KnownState):
    pieces: Tensor
    visited: Tensor
    turns: Tensor

class ClobberState(KnownState):
    own: Tensor
    other: Tensor

class ConnectFourState(KnownState):
    own: Tensor
    other: Tensor

class DarkHexState(KnownState):
    own: Tensor
    other: Tensor
    found: Tensor

class DotsAndBoxesState(KnownState):
    lines: Tensor
    first: Tensor

class GinRummyState(KnownState):
    key: Tensor
    hands: Tensor
    known: Tensor
    stock: Tensor
    discards: Tensor
    layoffs: Tensor
    laid: Tensor
    upcard: Tensor
    taken: Tensor
    returned: Tensor
    upcards: Tensor
    knock_card: Tensor
    phase: Tensor

class GoState(KnownState):
    own: Tensor
    other: Tensor
    atari: Tensor
    groups: Tensor
    ko: Tensor
    passed: Tensor

class HyperTicTacToeState(KnownState):
    own: Tensor
    other: Tensor

class HanabiState(KnownState):
    key: Tensor
    hands: Tensor
    hints: Tensor
    fireworks: Tensor
    deck: Tensor
    discards: Tensor
    information_tokens: Tensor
    life_tokens: Tensor
    turns: Tensor
    last_action: Tensor
    last_card: Tensor
    scored: Tensor
    regained: Tensor

class HavannahState(KnownState):
    own: Tensor
    other: Tensor
    groups: Tensor

class HexState(KnownState):
    own: Tensor
    other: Tensor
    groups: Tensor

class KalahState(KnownState):
    houses: Tensor
    stores: Tensor

class KuhnPokerState(KnownState):
    key: Tensor
    cards: Tensor
    bets: Tensor

class LeducPokerState(KnownState):
    key: Tensor
    cards: Tensor
    public: Tensor
    bets: Tensor
    round: Tensor
    actions: Tensor
    raises: Tensor
    history: Tensor

class LiarsDiceState(KnownState):
    key: Tensor
    dice: Tensor
    bid: Tensor
    bids: Tensor

class LinesOfActionState(KnownState):
    own: Tensor
    other: Tensor
    quiet: Tensor
    starts: Tensor
    ends: Tensor
    changes: Tensor

class NineMensMorrisState(KnownState):
    own: Tensor
    other: Tensor
    turns: Tensor
    removes: Tensor

class OthelloState(KnownState):
    own: Tensor
    other: Tensor
    moves: Tensor

class OwareState(KnownState):
    houses: Tensor
    stores: Tensor
    quiet: Tensor
    start: Tensor
    history: Tensor

class PhantomTicTacToeState(KnownState):
    own: Tensor
    other: Tensor
    found: Tensor

class QuoridorState(KnownState):
    pawns: Tensor
    walls: Tensor
    horizontal: Tensor
    vertical: Tensor
    groups: Tensor
    tied: Tensor
    odd: Tensor

class ShedState(KnownState):
    own: Tensor
    other: Tensor
    pile: Tensor

class TensorEquilibriumState(KnownState):
    key: Tensor
    tiles: Tensor
    level: Tensor
    storage: Tensor
    face_up: Tensor
    hand: Tensor
    pile: Tensor
    market: Tensor
    supply: Tensor
    ops: Tensor
    partners: Tensor
    rows: Tensor
    card: Tensor
    gpu: Tensor
    pend_flip: Tensor
    order: Tensor
    next_order: Tensor
    passed: Tensor
    n_passed: Tensor
    phase: Tensor
    pos: Tensor
    pend_target: Tensor
    pend_type: Tensor
    pend_bit: Tensor
    pend_direction: Tensor
    picks_left: Tensor
    tweaks_left: Tensor
    final: Tensor
    final_left: Tensor
    round: Tensor

class StarsRulesState(KnownState):
    pos: Tensor
    hand: Tensor
    commit: Tensor
    placed: Tensor
    scored: Tensor
    points: Tensor
    turn: Tensor
    hands: Tensor
    cursor: Tensor
    mover: Tensor
    winner: Tensor
    flip: Tensor

class TexasHoldemState(KnownState):
    key: Tensor
    hands: Tensor
    board: Tensor
    street: Tensor
    bets: Tensor
    raise_by: Tensor
    raise_count: Tensor
    acted: Tensor
    history: Tensor

class ThreeWillRulesState(KnownState):
    key: Tensor
    agents: Tensor
    bearers: Tensor
    turns: Tensor
    dr: Tensor
    free: Tensor
    ces: Tensor
    die: Tensor
    phase: Tensor
    challenge_left: Tensor
    declarer: Tensor
    turn_owner: Tensor
    after: Tensor
    winner: Tensor

class UltimateTicTacToeState(KnownState):
    own: Tensor
    other: Tensor
    own_boards: Tensor
    other_boards: Tensor
    closed: Tensor
    active: Tensor

class XiangqiState(KnownState):
    own: Tensor
    pieces: Tensor
    quiet: Tensor
    checks: Tensor
    starts: Tensor
    ends: Tensor
    kinds: Tensor
    changes: Tensor
    known: Tensor

class YState(KnownState):
    own: Tensor
    other: Tensor

class YahtzeeState(KnownState):
    key: Tensor
    dice: Tensor
    rerolls: Tensor
    boxes: Tensor
    extras: Tensor

@overload
def make(
    id: Literal["2048"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Game2048, Game2048State]: ...
@overload
def make(
    id: Literal["amazons"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Amazons, AmazonsState]: ...
@overload
def make(
    id: Literal["animal_shogi"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Shogi, ShogiState]: ...
@overload
def make(
    id: Literal["backgammon"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Backgammon, BackgammonState]: ...
@overload
def make(
    id: Literal["barrage_stratego"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[BarrageStratego, BarrageStrategoState]: ...
@overload
def make(
    id: Literal["breakthrough"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Breakthrough, BreakthroughState]: ...
@overload
def make(
    id: Literal["checkers"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Checkers, CheckersState]: ...
@overload
def make(
    id: Literal["chess"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Chess, ChessState]: ...
@overload
def make(
    id: Literal["chinese_checkers"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[ChineseCheckers, ChineseCheckersState]: ...
@overload
def make(
    id: Literal["clobber"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Clobber, ClobberState]: ...
@overload
def make(
    id: Literal["connect_four"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[ConnectFour, ConnectFourState]: ...
@overload
def make(
    id: Literal["dark_hex"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[DarkHex, DarkHexState]: ...
@overload
def make(
    id: Literal["dots_and_boxes"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[DotsAndBoxes, DotsAndBoxesState]: ...
@overload
def make(
    id: Literal["gardner_chess"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Chess, ChessState]: ...
@overload
def make(
    id: Literal["gin_rummy"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[GinRummy, GinRummyState]: ...
@overload
def make(
    id: Literal["go"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Go, GoState]: ...
@overload
def make(
    id: Literal["gomoku"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[HyperTicTacToe, HyperTicTacToeState]: ...
@overload
def make(
    id: Literal["hanabi"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Hanabi, HanabiState]: ...
@overload
def make(
    id: Literal["havannah"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Havannah, HavannahState]: ...
@overload
def make(
    id: Literal["hex"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Hex, HexState]: ...
@overload
def make(
    id: Literal["hyper_tic_tac_toe"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[HyperTicTacToe, HyperTicTacToeState]: ...
@overload
def make(
    id: Literal["kalah"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Kalah, KalahState]: ...
@overload
def make(
    id: Literal["kuhn_poker"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[KuhnPoker, KuhnPokerState]: ...
@overload
def make(
    id: Literal["leduc_poker"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[LeducPoker, LeducPokerState]: ...
@overload
def make(
    id: Literal["liars_dice"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[LiarsDice, LiarsDiceState]: ...
@overload
def make(
    id: Literal["lines_of_action"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[LinesOfAction, LinesOfActionState]: ...
@overload
def make(
    id: Literal["minishogi"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Shogi, ShogiState]: ...
@overload
def make(
    id: Literal["nine_mens_morris"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[NineMensMorris, NineMensMorrisState]: ...
@overload
def make(
    id: Literal["othello"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Othello, OthelloState]: ...
@overload
def make(
    id: Literal["oware"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Oware, OwareState]: ...
@overload
def make(
    id: Literal["phantom_tic_tac_toe"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[PhantomTicTacToe, PhantomTicTacToeState]: ...
@overload
def make(
    id: Literal["qubic"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[HyperTicTacToe, HyperTicTacToeState]: ...
@overload
def make(
    id: Literal["quoridor"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Quoridor, QuoridorState]: ...
@overload
def make(
    id: Literal["shed"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Shed, ShedState]: ...
@overload
def make(
    id: Literal["shogi"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Shogi, ShogiState]: ...
@overload
def make(
    id: Literal["tensor_equilibrium"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[TensorEquilibrium, TensorEquilibriumState]: ...
@overload
def make(
    id: Literal["tensor_stars"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[StarsRules, StarsRulesState]: ...
@overload
def make(
    id: Literal["texas_holdem"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[TexasHoldem, TexasHoldemState]: ...
@overload
def make(
    id: Literal["three_will"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[ThreeWillRules, ThreeWillRulesState]: ...
@overload
def make(
    id: Literal["tic_tac_toe"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[HyperTicTacToe, HyperTicTacToeState]: ...
@overload
def make(
    id: Literal["ultimate_tic_tac_toe"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[UltimateTicTacToe, UltimateTicTacToeState]: ...
@overload
def make(
    id: Literal["xiangqi"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Xiangqi, XiangqiState]: ...
@overload
def make(
    id: Literal["y"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Y, YState]: ...
@overload
def make(
    id: Literal["yahtzee"], *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any
) -> Env[Yahtzee, YahtzeeState]: ...
@overload
def make(id: str, *, illegal: Illegal = "lose", max_plies: int | None = None, **rule_fields: Any) -> Env:
    """Make an environment by id, with the fields of the game's rules as keyword arguments.

    Args:
        id: one of `registered()`, also with the game's version as in Gymnasium ("tic_tac_toe-v0",
            "tensor_envs/TicTacToe-v0"), or "package.module:Name" for a custom game. Name is its GameEntry, or its rules
            dataclass (with the entry that the module registers for it, if there is one).
        illegal: "lose" (an illegal action ends the game: the mover gets -1, every other player 1/(P-1)) or "raise"
            (`step` checks actions on the host and raises ValueError).
        max_plies: plies after which an unfinished game is truncated; the last step pays its usual rewards, and a game
            that ends in that ply is terminated. A game with a rule field of this name has its own rule instead (go
            counts the board). None is the game's default.
        **rule_fields: fields of the game's rules dataclass; those of a preset are fixed.

    Returns:
        The environment.

    Raises:
        ValueError: an unknown id (the error has similar ones), or invalid values of rule fields.
        TypeError: an unknown rule field, or a name of an object that is no game.

    Examples:
        >>> te.make("hyper_tic_tac_toe", shape=(3, 4, 5), k=3).num_actions
        60
        >>> te.make("hex", max_plies=20)
        <Env hex-v0 max_plies=20>
    """
