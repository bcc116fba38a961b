"""Reports of the own games by the laboratory, and the command that measures them."""
