"""Reads the source of kernels and rewrites it, so that its loops, conditions and calls go through the tracer."""
