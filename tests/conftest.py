"""How long hypothesis searches, and what many tests need."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read when SciPy is imported; without it a check would be skipped

import pytest
from hypothesis import HealthCheck, settings

from discern.classifier import Classifier
from discern.models import file as files

# Scripts: pytest would run them while it looks for doctests.
collect_ignore = [f"patch/{name}.py" for name in ("discriminants", "grid_search", "text_classification")]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell: tests press Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

slow_is_well = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "default",
    deadline=None,
    max_examples=60,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=slow_is_well,
)
settings.register_profile("fuzz", deadline=None, max_examples=20_000, suppress_health_check=slow_is_well)
settings.register_profile(  # for mutation testing: each change is tried by all tests of its module
    "brief", deadline=None, max_examples=12, derandomize=True, suppress_health_check=slow_is_well
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def model_bytes() -> Callable[[Classifier], bytes]:
    """The bytes of the file that a classifier would be saved to."""
    return lambda classifier: bytes(files.encode(*classifier.fitted.content())[0])


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., str]:
    """Run a program in another process and give what it printed."""

    def run(program: str, *arguments: Any, environment: Mapping[str, str] | None = None) -> str:
        script = tmp_path / "program.py"
        script.write_text(program, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "error", str(script), *map(str, arguments)],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    return run
