"""Runs rewritten kernels once and records what they do: loops, branches, calls and the names these carry."""
