"""Adapters to other libraries' interfaces; each module needs the extra of its name."""
