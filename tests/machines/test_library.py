"""Random walks over the library: whatever is done in whatever order, the model is that of its rows."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.machines.library import Machine
from tests.machines.walking import walked

SHORT = 1_600
LONG = int(os.environ.get("DISCERN_STEPS", "50000"))
SEED = int(os.environ.get("DISCERN_SEED", "1"))


def test_a_short_walk() -> None:
    assert not walked(Machine, SHORT, 0)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_long_walk() -> None:
    assert not walked(Machine, LONG, SEED)


class LibraryMachine(RuleBasedStateMachine):
    """The same machine for hypothesis, which looks for the shortest walk that fails."""

    @initialize(seed=st.integers(0, 1 << 16))
    def start(self, seed: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.machine = Machine(seed, Path(self.folder.name))

    @rule(name=st.sampled_from(list(Machine.operations)), seed=st.integers(0, 1 << 16))
    def step(self, name: str, seed: int) -> None:
        self.machine.step(name, seed)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestLibraryMachine = LibraryMachine.TestCase
TestLibraryMachine.settings = settings(max_examples=15, stateful_step_count=20, derandomize=True)
