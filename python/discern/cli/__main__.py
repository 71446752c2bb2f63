"""Lets ``python -m discern.cli`` run the command line."""

from discern.cli.entry import main

if __name__ == "__main__":
    main()
