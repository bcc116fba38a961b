"""Parts of `scripts/documents.py`."""
