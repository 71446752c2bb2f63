"""Any bytes through the Python face: texts that are asked for and learned, and model files.

python fuzz/through_python.py terms|files [options of libFuzzer, such as -atheris_runs=100000]

Every input is given to what is cheap: a text is asked for, a file is read from memory. Samples, drawn by the bytes of
the input, go the whole way: a text is explained, or learned and forgotten; a file is written and loaded.
"""

import json
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import atheris
import numpy as np

with atheris.instrument_imports(include=["discern"]):
    from discern import _native
    from discern.classifier import Classifier, load
    from discern.models import file as files
    from discern.models.file import ModelFileError

KNOWN = [{"label": "spam", "text": "win a free prize"}, {"label": "ham", "text": "lunch at noon"}]
MODEL, ASKED = (Classifier(text="text", smoothing=1.0).fit(KNOWN) for _ in range(2))
"""One that learns and forgets, and one that is only asked, so that it answers by the fast way."""
BEFORE, LABELS = MODEL.checksum(), frozenset(MODEL.labels)
EXPLAINED, LEARNED, WRITTEN, SIGNED = 1024, 8192, 256, 64
"""One input in so many."""
HOLE = "0" * 64
METADATA = MODEL._content(slim=False)[1]
NAMES = sorted(METADATA)


def terms(data: bytes) -> None:
    """Ask for a text; explain some; learn and forget some, after which the model is what it was."""
    text = data.decode("utf-8", "surrogatepass" if data[:1] > b"\x80" else "replace")
    label, drawn = ASKED.predict_one(text), zlib.crc32(data, 1)
    if label not in LABELS:
        raise AssertionError("an answer that is no label")
    if drawn % EXPLAINED == 0 and explained(ASKED, text) != label:
        raise AssertionError("the fast way to an answer leads elsewhere")
    if drawn % LEARNED == 0:
        learn(text, "spam" if len(data) % 2 else "ham")


def explained(model: Classifier, text: str) -> str:
    """Return the label by the ways that tell more."""
    evidence = model.explain(text)
    if not np.isfinite(model.predict_proba([text])).all() or model.predict([text])[0] != evidence.label:
        raise AssertionError("the ways to an answer differ")
    return evidence.label


def learn(text: str, label: str) -> None:
    """Learn and forget."""
    rows = [{"label": label, "text": text}]
    MODEL.learn(rows)
    explained(MODEL, text)
    MODEL.take_back(rows)
    if MODEL.checksum() != BEFORE:
        raise AssertionError("what was learned and forgotten left a trace")


def contents(data: bytes) -> bytes:
    """Return a file with the bytes: as they are, as the head of the container, or as what the model says of itself."""
    kind, rest = data[:1], data[1:]
    if kind < b"\x20":
        return rest
    if kind < b"\x80":
        return framed(rest)
    text = rest.decode("latin-1")
    if kind < b"\xf0" or zlib.crc32(data, 1) % SIGNED:
        return framed(json.dumps({"__metadata__": {"discern": text}}).encode())
    head = {
        **METADATA,
        "format": "discern-model",
        "version": 1,
        "checksum": HOLE,
        NAMES[rest[0] % len(NAMES) if rest else 0]: said(text[1:]),
    }
    return signed(framed(json.dumps({"__metadata__": {"discern": json.dumps(head)}}).encode()))


def said(text: str) -> object:
    """Return what a text says as JSON, or the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def framed(head: bytes) -> bytes:
    """Return the container of a head, and no data."""
    return len(head).to_bytes(8, "little") + head


def signed(content: bytes) -> bytes:
    """Make the checksum fit, as an attacker would."""
    start = content.find(HOLE.encode())
    if start < 0:
        return content
    digest = _native.checksum(np.frombuffer(content, np.uint8), start, start + len(HOLE))
    return content[:start] + digest.encode() + content[start + len(HOLE) :]


def model_file(data: bytes) -> None:
    """Load any bytes: refused, and nothing else."""
    content = contents(data)
    on_disc = zlib.crc32(data, 1) % WRITTEN == 0
    if on_disc:
        PATH.write_bytes(content)
    files._read = READ if on_disc else lambda _: np.frombuffer(content, np.uint8)
    try:
        load(PATH)
    except ModelFileError:
        return
    raise AssertionError("a file without a model was loaded")


READ = files._read
TARGETS: dict[str, Callable[[bytes], None]] = {"terms": terms, "files": model_file}
FOLDER = tempfile.TemporaryDirectory(dir=next((place for place in ["/dev/shm"] if Path(place).is_dir()), None))
PATH = Path(FOLDER.name) / "m.discern"


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
