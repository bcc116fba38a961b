"""Types of the games for type checkers, from their specs; see `documents/known_games.py`."""

from documents.known_games import main

if __name__ == "__main__":
    main()
