"""The four steps of attention, and the masks and heads around them, as pure functions: one file each."""
