"""Legitimate variants of attention, which are findings only when they were not declared."""

TEXT = """
variant-missing | 13_transformer_and_mobilevit | mistake
A declared variant is not there
    Look whether the step that makes the variant is still called, or leave it out of `variants`.

variant-causal | 07_masks | variant
This attention is causal
    If you mean it, declare it: `causal=True`.

variant-window | 12_long_sequences | variant
This attention sees only a window of keys
    If you mean it, declare it: `window=w`.

variant-alibi | 13_transformer_and_mobilevit | variant
This attention has ALiBi position biases
    If you mean it, declare it: `variants=('alibi',)`.

variant-rotary | 13_transformer_and_mobilevit | variant
This attention rotates query and key by their position (RoPE)
    If you mean it, declare it: `variants=('rotary',)`.

variant-softcap | 04_scores_and_scaling | variant
This attention caps its scores with tanh
    If you mean it, declare it: `variants=('softcap',)`.

variant-cosine | 04_scores_and_scaling | variant
This attention compares directions only (cosine)
    If you mean it, declare it: `variants=('cosine',)`.

variant-sigmoid | 05_softmax | variant
This attention uses a sigmoid in place of the softmax
    If you mean it, declare it: `variants=('sigmoid',)`; otherwise `torch.softmax(scores, dim=-1)`.

variant-sink | 05_softmax | variant
This attention's softmax has one more, empty key
    If you mean it, declare it: `variants=('sink',)`.

variant-linear | 12_long_sequences | variant
This attention is linear: a feature map takes the place of the softmax
    If you mean it, declare it: `variants=('linear',)`.

variant-distance | 04_scores_and_scaling | variant
This attention compares by distance, not by dot product
    If you mean it, declare it: `variants=('distance',)`.
"""
