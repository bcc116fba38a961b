"""Games of hidden information as trees: equilibria, exploitability, safe re-solving."""
