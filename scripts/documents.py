"""Build the documents, with boards to play on: `python scripts/documents.py --help`."""

import sys

import command.first  # noqa: F401
from documents.main import main

if __name__ == "__main__":
    sys.exit(main())
