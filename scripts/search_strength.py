"""Score the exploration of playout search, or count its mistakes: `python scripts/search_strength.py --help`."""

from search_strength.main import main

if __name__ == "__main__":
    main()
