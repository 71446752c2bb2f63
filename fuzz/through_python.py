"""Any bytes through the Python face: texts that are learned and asked for, and model files.

python fuzz/through_python.py terms|files [options of libFuzzer, such as -atheris_runs=100000]
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["discern"]):
    from discern.classifier import Classifier, load
    from discern.files import ModelFileError

KNOWN = [{"label": "spam", "text": "win a free prize"}, {"label": "ham", "text": "lunch at noon"}]
MODEL = Classifier(text="text", smoothing=1.0).fit(KNOWN)
BEFORE = MODEL.checksum()


def terms(data: bytes) -> None:
    """Learn a text, ask for it, forget it: the model is what it was."""
    text = data.decode("utf-8", "surrogatepass" if data[:1] > b"\x80" else "replace") if data else ""
    rows = [{"label": "spam" if len(data) % 2 else "ham", "text": text}]
    MODEL.learn(rows)
    if MODEL.predict([text])[0] not in MODEL.labels or not MODEL.explain(text).label:
        raise AssertionError("an answer that is no label")
    MODEL.take_back(rows)


def files(data: bytes) -> None:
    """Load any bytes: refused, and nothing else."""
    path = Path(FOLDER.name) / "m.discern"
    for content in (data, len(data).to_bytes(8, "little") + data):
        path.write_bytes(content)
        try:
            load(path)
        except ModelFileError:
            continue
        raise AssertionError("a file without a checksum was loaded")


TARGETS: dict[str, Callable[[bytes], None]] = {"terms": terms, "files": files}
FOLDER = tempfile.TemporaryDirectory()


def guarded(data: bytes) -> None:
    """Run the chosen target; bytes that are no text are no input."""
    try:
        TARGETS[TARGET](data)
    except UnicodeDecodeError:
        return


if __name__ == "__main__":
    TARGET = sys.argv.pop(1)
    atheris.Setup(sys.argv, guarded)
    atheris.Fuzz()
