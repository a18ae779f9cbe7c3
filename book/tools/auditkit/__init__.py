"""Parts of the coursework's long run."""
