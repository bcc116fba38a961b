"""Parts of `scripts/shed.py`: the post's claims, the single neuron, and their picture."""
