"""Whole attentions, each exact, each for one situation; ``attention_lib.attention`` picks one.

Every path takes inputs that were checked, heads that were expanded, and one complete mask.
"""
