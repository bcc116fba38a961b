"""Build the documents, with boards to play on: `python scripts/documents.py --help`."""

from documents.main import main

if __name__ == "__main__":
    main()
