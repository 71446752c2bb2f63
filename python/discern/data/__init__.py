"""Input: files, frames and mail as batches of named, typed columns and their terms."""
