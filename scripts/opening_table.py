"""Compute the table of openings that comes with a game: `python scripts/opening_table.py --help`."""

from opening_table.main import main

if __name__ == "__main__":
    main()
