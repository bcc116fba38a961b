"""The documents as a site: the pages of this repository, a page a game, the reference, and boards to play on."""
