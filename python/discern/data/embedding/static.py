"""Static embeddings in the format of model2vec: the vector of a text is the mean of the vectors of its tokens."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from discern.data.strings import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

VECTORS, TOKENIZER, CONFIG = "model.safetensors", "tokenizer.json", "config.json"
LARGEST = {VECTORS: 8 << 30, TOKENIZER: 256 << 20, CONFIG: 1 << 20}
"""The limit on the bytes of each file."""
MOST_TOKENS = 512
"""How many tokens of a text are used unless the configuration tells."""
FEW = 32
"""The most texts that are cut into tokens one by one, without threads, which are then not in the way of a fork."""
MISSING = "static embeddings need the package tokenizers: pip install 'discern[embed]'"


class StaticEmbedding:
    """Embed texts by the mean of the vectors of their tokens, read from a folder in the format of model2vec.

    The folder holds ``model.safetensors`` (``embeddings``, and maybe ``weights`` and ``mapping``), ``tokenizer.json``
    and ``config.json``. It is read by :meth:`load`; nothing is downloaded. Unknown tokens are left out; a text without
    known tokens is a vector of zeros.

    Examples
    --------
    >>> StaticEmbedding.load("no such folder")
    Traceback (most recent call last):
    discern.data.strings.DataError: no such folder: 'no such folder'; pass the folder of a static embedding
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Any,
        tensors: tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None],
        config: dict[str, Any],
        checksum: str,
    ) -> None:
        self.folder, self.name, self.checksum = folder, folder.name, checksum
        self.vectors, self.weights, self.mapping = tensors
        self.normalize, self.max_tokens = config["normalize"], config["max_length"]
        self._tokenizer, self._unknown = tokenizer, _unknown_token(tokenizer)
        lengths = [len(token) for token in tokenizer.get_vocab()]
        self._most_characters = None if self.max_tokens is None else self.max_tokens * max(1, int(np.median(lengths)))
        tokenizer.no_padding()
        if self.max_tokens is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(self.max_tokens)

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return int(self.vectors.shape[1])

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> StaticEmbedding:
        """Read the folder of a static embedding; raises ``DataError`` if it is incomplete or damaged."""
        try:
            import tokenizers
        except ImportError as error:
            raise DataError(MISSING) from error

        path = Path(folder).expanduser().resolve()
        if not path.is_dir():
            raise DataError(f"no such folder: {str(folder)!r}; pass the folder of a static embedding")
        contents = {name: _content(path, name) for name in (CONFIG, TOKENIZER, VECTORS)}
        config = _config(contents[CONFIG], path / CONFIG)
        try:
            tokenizer = tokenizers.Tokenizer.from_str(contents[TOKENIZER].decode("utf-8"))
        except Exception as error:
            raise DataError(f"{str(path / TOKENIZER)!r} is not the tokenizer of a static embedding: {error}") from error
        tensors = _tensors(contents[VECTORS], path / VECTORS, tokenizer)
        return cls(path, tokenizer, tensors, config, _checksum(contents))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, one row for each.

        The sums are those of 64-bit numbers in the order of the tokens, so that a vector does not depend on the other
        texts or the number of threads.
        """
        tokens = self._tokens([text[: self._most_characters] for text in texts])
        counts = np.array([len(row) for row in tokens], np.int64)
        ids = np.fromiter((token for row in tokens for token in row), np.int64, int(counts.sum()))
        weights = np.ones(len(ids)) if self.weights is None else self.weights[ids].astype(np.float64)
        places = ids if self.mapping is None else self.mapping[ids].astype(np.int64)
        distinct, numbers = np.unique(places, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(counts), len(distinct))
        sums = scipy.sparse.csr_array((weights, numbers, starts), shape) @ self.vectors[distinct].astype(np.float64)
        means = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        return _of_unit_length(means) if self.normalize else means

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        try:
            if len(texts) <= FEW:
                encoded = [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
            else:
                encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        except Exception as error:  # what the tokenizer raises has no type of its own
            raise DataError(f"the tokenizer of {self.name!r} cannot read a text: {error}") from error
        unknown = self._unknown
        if unknown is None:
            return [one.ids for one in encoded]
        return [[token for token in one.ids if token != unknown] for one in encoded]

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (str(self.folder), self.checksum)

    def __repr__(self) -> str:
        return f"<discern.StaticEmbedding {self.name}: {self.dimension} numbers>"


@lru_cache(maxsize=2)
def _again(folder: str, checksum: str) -> StaticEmbedding:
    """Read a static embedding in another process, once."""
    found = StaticEmbedding.load(folder)
    if found.checksum != checksum:
        raise DataError(f"the static embedding in {folder!r} is not the same in every process; copy the folder again")
    return found


def _of_unit_length(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return (wide / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _unknown_token(tokenizer: Any) -> int | None:
    """Return the number of the token that stands for unknown ones, if there is one."""
    model = tokenizer.model
    if hasattr(model, "unk_token"):
        return None if model.unk_token is None else tokenizer.token_to_id(model.unk_token)
    number = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return None if number is None else int(number)


# ------------------------------------------------------------------------------------------------- files


def _content(folder: Path, name: str) -> bytes:
    path = folder / name
    try:
        if path.stat().st_size > LARGEST[name]:
            raise DataError(f"{str(path)!r} is larger than {LARGEST[name]:,} bytes, the limit for a static embedding")
        return path.read_bytes()
    except FileNotFoundError as error:
        listed = f"{VECTORS}, {TOKENIZER} and {CONFIG}"
        raise DataError(f"{str(folder)!r} has no {name}; the folder of a static embedding has {listed}") from error
    except OSError as error:
        raise DataError(f"cannot read {str(path)!r}: {error.strerror}") from error


def _checksum(contents: dict[str, bytes]) -> str:
    """Return the checksum of the files."""
    parts = [hashlib.blake2b(contents[name], digest_size=16).digest() for name in (CONFIG, TOKENIZER, VECTORS)]
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()


def _config(content: bytes, path: Path) -> dict[str, Any]:
    try:
        config = json.loads(content)
        found = {"normalize": config.get("normalize", False), "max_length": config.get("max_length", MOST_TOKENS)}
    except (ValueError, AttributeError, RecursionError) as error:
        raise DataError(f"{str(path)!r} is not the configuration of a static embedding: {error}") from error
    if not isinstance(found["normalize"], bool):
        raise DataError(f"{str(path)!r}: 'normalize' must be true or false, not {found['normalize']!r}")
    most = found["max_length"]
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or not 0 < most < 1 << 31):
        raise DataError(f"{str(path)!r}: 'max_length' must be a number of tokens above 0 or null, not {most!r}")
    return found


def _tensors(
    content: bytes, path: Path, tokenizer: Any
) -> tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]:
    """Return the vectors, and weights and mapping of tokens if there are any; each checked."""
    import safetensors.numpy

    try:
        tensors = safetensors.numpy.load(content)
    except Exception as error:
        raise DataError(f"{str(path)!r} is not a safetensors file, or it is damaged: {error}") from error
    vectors = tensors.get("embeddings", tensors.get("embedding.weight"))
    if vectors is None:
        raise DataError(f"{str(path)!r} has no tensor 'embeddings'; it is not a static embedding")
    weights, mapping = tensors.get("weights"), tensors.get("mapping")
    tokens = 1 + max(tokenizer.get_vocab().values(), default=-1)
    problem = _problem(vectors, weights, mapping, tokens)
    if problem:
        raise DataError(f"{str(path)!r} is not a static embedding for its tokenizer: {problem}")
    return vectors, weights, mapping


def _problem(vectors: NDArray[Any], weights: NDArray[Any] | None, mapping: NDArray[Any] | None, tokens: int) -> str:
    """Return what is wrong with tensors for a number of tokens."""
    if vectors.ndim != 2 or not vectors.size or vectors.dtype.kind not in "fi":
        return f"'embeddings' has shape {vectors.shape} and type {vectors.dtype}, not rows of numbers"
    if mapping is None and len(vectors) < tokens:
        return f"it has {len(vectors)} vectors for {tokens} tokens"
    if mapping is not None and (mapping.dtype.kind not in "iu" or mapping.shape != (tokens,)):
        return f"'mapping' has shape {mapping.shape} and type {mapping.dtype}, not a row for each of {tokens} tokens"
    if mapping is not None and not (mapping.min() >= 0 and mapping.max() < len(vectors)):
        return f"'mapping' points beyond the {len(vectors)} vectors"
    if weights is not None and (weights.dtype.kind != "f" or weights.shape != (tokens,)):
        return f"'weights' has shape {weights.shape} and type {weights.dtype}, not a number for each of {tokens} tokens"
    if not np.isfinite(vectors).all() or (weights is not None and not np.isfinite(weights).all()):
        return "it holds numbers that are not finite"
    return ""
