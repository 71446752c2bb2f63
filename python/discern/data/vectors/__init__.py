"""Columns of vectors: rows of numbers of one length, such as embeddings of texts or images."""
