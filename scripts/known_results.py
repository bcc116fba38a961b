"""Compute published counts and values, and compare: `python scripts/known_results.py --help`."""

from known_results.main import main

if __name__ == "__main__":
    main()
