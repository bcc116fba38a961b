"""Three Will: agents, one die, risk cards, stacks of two, and a hidden swap that may undo a win."""

from tensor_envs._engine.entry import GameEntry

GAME = GameEntry(
    id="three_will",
    rules="tensor_envs.games.three_will.rules:ThreeWillRules",
    notation="tensor_envs.games.three_will.notation",
    render="tensor_envs.games.three_will.render",
    short={"max_turns": 70, "to_win": 1},  # a fifth of random games are won, the others truncated
)
