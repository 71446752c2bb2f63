"""Rows in: files, frames and mail become batches of named, typed columns and their terms."""
