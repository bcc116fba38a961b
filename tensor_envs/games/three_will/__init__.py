"""Three Will: agents, one die, risk cards, stacks of two, and a hidden swap that may undo a win."""

from tensor_envs.games._kit.entry import game_entry

SHORT = {"max_turns": 70, "to_win": 1}  # a fifth of random games are won, the others truncated
GAME = game_entry(__name__, "ThreeWillRules", short=SHORT)
