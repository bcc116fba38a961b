"""Tables of openings: what a search of a game's first plies has proven."""
