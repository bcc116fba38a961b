"""The parts of `scripts/shed.py`: the post's claims, the single neuron, the picture of both."""
