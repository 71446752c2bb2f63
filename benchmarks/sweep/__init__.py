"""The sweep: every public estimator and high-level operation on many shapes, against its peer: ``make sweep``."""
