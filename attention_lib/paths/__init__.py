"""Whole attentions, each exact, each for one situation; ``attention_lib.attention`` picks one.

Every path takes inputs that were checked. ``fused`` and ``explicit`` serve any size; ``explicit`` makes large tables of
weights by ``lean``. Three are for situations in which those two would waste work or memory, and each says by a function
``fits_...`` when it is one of them: ``grouped`` (few queries over shared key heads), ``windowed`` (a narrow band of a
long sequence), ``dropout`` (training on long sequences; ``vmap`` takes only short ones).
"""
