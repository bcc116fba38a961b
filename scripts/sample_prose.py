"""Random docstrings, comments and identifiers of the package, to read; see `documents/prose.py`."""

from documents.prose import main

if __name__ == "__main__":
    main()
