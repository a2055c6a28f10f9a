"""Jitted kernels: their parameters, options, cache keys, compiled images and checks of their results."""
