"""Measure the own games and variants of their rules: `python scripts/game_reports.py --help`."""

from game_reports.main import main

if __name__ == "__main__":
    main()
