"""Containers and objects of the user in kernels: what they hold, which are one, and what changes in them."""
