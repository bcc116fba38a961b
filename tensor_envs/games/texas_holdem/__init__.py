"""Texas hold'em for two players."""

from tensor_envs.games._kit.entry import game_entry

GAME = game_entry(__name__, "TexasHoldem", files={".phh": f"{__name__}.phh"})
