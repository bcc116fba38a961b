"""Template of a custom game, and the command that writes it as a folder."""
