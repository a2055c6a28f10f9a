"""The operations of the kernel language, made from the core's table, and indexing."""
