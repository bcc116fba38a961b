"""Many steps of one policy: sampling of actions, rollouts, random playouts, and counts of their decisions."""
