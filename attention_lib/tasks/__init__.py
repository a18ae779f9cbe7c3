"""Toy tasks: batches drawn from a generator on the CPU, nothing to download."""
