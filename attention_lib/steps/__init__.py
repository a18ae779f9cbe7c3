"""The article's four steps, and the masks and heads around them, as pure functions: one file each."""
