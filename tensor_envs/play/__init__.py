"""Games in a browser: a local server, its tables and its computer players."""
