"""A function that embeds texts, with the name, dimension and checksum by which a model knows it again."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discern.data.embedding.identity import PROBES, EmbedderIdentity
from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BATCH = 1024
"""How many texts are embedded in one call."""
MOST_DIMENSIONS = 4096
SHOWN_AFTER = 2.0
"""The seconds after which a progress bar appears on a terminal."""


class Embedder:
    """Embed texts by a function from a list of strings to a 2-D array.

    Parameters
    ----------
    encode : callable, object with ``encode``, or path
        For example the ``encode`` of a SentenceTransformer or of a model of model2vec, or that model itself. A path is
        the folder of a static embedding, see :class:`discern.StaticEmbedding`.
    name : str, optional
        How messages and model files call it; by default the name of the function or folder.
    batch : int
        How many texts are embedded in one call.
    concurrent : bool, optional
        Whether several threads may call it at the same time; by default only those of a static embedding.
    progress : bool
        Show a progress bar on a terminal if it takes longer than two seconds.

    Examples
    --------
    >>> lengths = Embedder(lambda texts: [[len(text), text.count(" ")] for text in texts], name="lengths")
    >>> lengths(["two words", "one"]).tolist()
    [[9.0, 1.0], [3.0, 0.0]]
    >>> lengths.identity.dimension
    2
    """

    def __init__(
        self,
        encode: Any,
        *,
        name: str | None = None,
        batch: int = BATCH,
        concurrent: bool | None = None,
        progress: bool = True,
    ) -> None:
        from discern.data.embedding.static import StaticEmbedding

        if isinstance(encode, str | os.PathLike):
            encode = StaticEmbedding.load(encode)
        self.encode = function_of(encode)
        static = getattr(self.encode, "__self__", None)
        self._static = static if isinstance(static, StaticEmbedding) else None
        self.name = name or (name_of(self.encode) if self._static is None else self._static.name)
        if batch < 1:
            raise ValueError(f"batch must be at least 1, not {batch}")
        self.batch, self.progress = batch, progress
        self.concurrent = self._static is not None if concurrent is None else concurrent
        self._make_lock()

    @classmethod
    def of(cls, given: Any) -> Embedder:
        """Return an embedder as it is, or make one of what :class:`Embedder` takes."""
        return given if isinstance(given, Embedder) else cls(given)

    def _make_lock(self) -> None:
        self._lock = nullcontext() if self.concurrent else threading.Lock()
        _ALIVE.add(self)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """The name, dimension and checksum; the first use embeds three short texts."""
        texts = list(PROBES)
        vectors = self._checked(texts, self._encoded(texts), None, place=lambda _: "a text that tells embedders apart")
        checksum = None if self._static is None else self._static.checksum
        return EmbedderIdentity.of(self.name, vectors, checksum)

    def __call__(self, texts: Sequence[str], place: Callable[[int], str] | None = None) -> NDArray[np.float32]:
        """Return the vectors of texts, one row for each.

        Raises ``DataError`` for vectors that cannot be used; ``place`` names text i in the message.
        """
        dimension = self.identity.dimension
        parts = [np.zeros((0, dimension), np.float32)]
        for start in self._watched(range(0, len(texts), self.batch), len(texts)):
            some = list(texts[start : start + self.batch])
            parts.append(self._checked(some, self._encoded(some), dimension, start, place))
        return np.concatenate(parts)

    def _encoded(self, texts: list[str]) -> Any:
        with self._lock:
            return self.encode(texts)

    def _checked(
        self,
        texts: list[str],
        found: Any,
        dimension: int | None,
        start: int = 0,
        place: Callable[[int], str] | None = None,
    ) -> NDArray[np.float32]:
        """Return what was returned for texts as 32-bit numbers; raises ``DataError`` if it cannot be used."""
        try:
            vectors = np.asarray(found)
            if vectors.dtype.kind not in "biuf":
                raise ValueError("it holds no numbers")
        except (ValueError, TypeError) as error:
            raise DataError(f"{self} must return a 2-D array of numbers, one row for each text: {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise DataError(
                f"{self} must return one row of numbers for each text; for {len(texts)} texts it returned an array of "
                f"shape {vectors.shape}"
            )
        if not 0 < vectors.shape[1] <= MOST_DIMENSIONS:
            raise DataError(
                f"{self} returned {vectors.shape[1]} numbers for each text; from 1 to {MOST_DIMENSIONS} can be used"
            )
        if dimension is not None and vectors.shape[1] != dimension:
            raise DataError(f"{self} returned {vectors.shape[1]} numbers for each text, and {dimension} before")
        with np.errstate(over="ignore"):
            vectors = np.ascontiguousarray(vectors, np.float32)
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            where = place(start + int(bad[0])) if place else f"text {start + int(bad[0]) + 1}"
            raise DataError(f"{where}: {self} returned a number that is not finite for {_shortened(texts[bad[0]])!r}")
        return vectors

    def _watched(self, starts: range, total: int) -> Iterator[int]:
        """Yield the starts of batches; show a progress bar if they take long."""
        began, bar, task = time.monotonic(), None, None
        try:
            for start in starts:
                if bar is None and start and self.progress and time.monotonic() - began > SHOWN_AFTER:
                    bar, task = _progress_bar(self.name, total)
                if bar is not None:
                    bar.update(task, completed=start)
                yield start
        finally:
            if bar is not None:
                bar.stop()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> Embedder:
        return self  # it never changes, and may hold a large model

    def __str__(self) -> str:
        return f"the embedder {self.name!r}"

    def __repr__(self) -> str:
        return f"<discern.Embedder {self.name}>"


_ALIVE: weakref.WeakSet[Embedder] = weakref.WeakSet()


def _renew_locks() -> None:
    """Renew all locks in a forked process: the thread that held one is not there to release it."""
    for one in _ALIVE:
        one._make_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def function_of(given: Any) -> Callable[[list[str]], Any]:
    """Return the function that embeds: what was given, or its method ``encode``."""
    encode = getattr(given, "encode", None)
    if callable(encode) and not isinstance(given, str | bytes | type):
        return encode  # type: ignore[no-any-return]
    if callable(given) and not isinstance(given, type):
        return given  # type: ignore[no-any-return]
    raise ValueError(
        f"embed must be a function from a list of strings to an array, an object with the method encode, or the folder "
        f"of a static embedding, not {given!r}"
    )


def name_of(encode: Callable[..., Any]) -> str:
    """Return the name of a function; for the method ``encode`` that of its class.

    Examples
    --------
    >>> name_of(str.lower), name_of(np.linalg.norm)
    ('str.lower', 'numpy.linalg.norm')
    """
    owner = getattr(encode, "__self__", None)
    named = type(owner) if owner is not None and not isinstance(owner, type) else encode
    while hasattr(named, "func"):  # functools.partial
        named = named.func
    name = getattr(named, "__qualname__", type(named).__qualname__)
    module = getattr(named, "__module__", None) or ""
    return f"{module}.{name}" if module not in ("", "builtins", "__main__") else name


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


def _progress_bar(name: str, total: int) -> tuple[Any, Any]:
    """Return a progress bar on the terminal and its task; None if there is no terminal or another bar."""
    if not sys.stderr.isatty():
        return None, None
    from rich.console import Console
    from rich.errors import LiveError
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    try:
        bar.start()
    except LiveError:  # the command line shows how much has been read
        return None, None
    return bar, bar.add_task(f"embedding by {name}", total=total)
