"""Modules: they hold parameters and call the functions of the floors below."""
