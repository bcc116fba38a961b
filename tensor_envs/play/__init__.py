"""Games in a browser, asked of this machine: a server, its tables, and who plays when nobody clicks."""
