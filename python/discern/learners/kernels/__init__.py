"""Support vector machines and other sums of kernel values."""
