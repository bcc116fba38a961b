"""Play one batch in several processes or on Ray: `python scripts/distributed_rollout.py --help`."""

from distributed_rollout.main import main

if __name__ == "__main__":
    main()
