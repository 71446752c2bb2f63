"""Lets ``python -m discern.cli`` run the command line."""

from discern.cli.start import main

if __name__ == "__main__":
    main()
