"""Run a scikit-learn script on discern's classes: ``python -m discern.patch script.py``."""

import sys

from discern.estimators.patch import main

if __name__ == "__main__":
    sys.exit(main())
