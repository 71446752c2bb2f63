"""Random walks over the command line: every command works or changes nothing, and every file is that of its rows."""

import os

import pytest

from tests.machines.commands import KILLS, Machine
from tests.machines.walking import walked

SHORT = 250
LONG = int(os.environ.get("DISCERN_COMMANDS", "5000"))
SEED = int(os.environ.get("DISCERN_SEED", "1"))


def test_a_short_walk() -> None:
    assert not walked(Machine, SHORT, 0)


def test_killed_while_it_writes() -> None:
    steps = [(name, seed) for seed in range(6) for name in ("learn", "killed", "forget")]
    assert Machine.replay(1, steps).kills == 6


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_long_walk() -> None:
    assert not walked(Machine, LONG, SEED, KILLS)
