"""The figure of the landing page: three heads of a pretrained encoder on the sentence that everyone uses."""

from functools import lru_cache

SENTENCE = "The animal didn't cross the street because it was too tired."
HEADS = {
    (5, 11): "layer 5, head 11: the topic",
    (3, 1): "layer 3, head 1: what a pronoun may mean",
    (0, 2): "layer 0, head 2: the word before",
}
QUESTION = "Which word does “it” look at?"
OBSERVE = (
    "Two thirds of the weight go to “animal”. Now choose “was”, “the” or the apostrophe: in this head they look at "
    "“animal” as well, so it marks the topic rather than answers a question. In layer 3, head 1 “it” does the same "
    "with fewer followers, and the head of layer 0 knows only the piece before. "
    "Chapter 9 asks whether any of them understands the sentence."
)


@lru_cache(1)
def queries_and_keys():
    """The tokens, and query and key of each head, as chapter 9 computes them.

    Returns:
        ``(tokens, query, key, weights)``: n texts; two tensors (heads, n, 32); and what the model itself attends
        with, (heads, n, n).

    Raises:
        MissingWeightsError: the package with the weights is not installed; the message says how to install it.
    """
    import torch

    from attention_lib import split_heads
    from attention_lib.models.minilm import load_minilm

    model, tokenizer = load_minilm()
    tokens, lengths, (words,) = tokenizer([SENTENCE])
    hidden, weights = model(tokens, lengths, need_weights=True)
    query, key = [], []
    for layer, head in HEADS:
        attention = model.stack.layers[layer].attention
        for found, project in ((query, attention.w_q), (key, attention.w_k)):
            found.append(split_heads(project(hidden[layer]), attention.num_heads)[0, head])  # (n, d_k)
    own = torch.stack([weights[layer][0, head] for layer, head in HEADS])
    return words, torch.stack(query), torch.stack(key), own


def figure():
    """The explorer, with *it* asking first."""
    from attention_lib import viz

    words, query, key, _ = queries_and_keys()
    return viz.explore(
        words,
        query=query,
        key=key,
        names=list(HEADS.values()),
        row=words.index("it"),
        question=QUESTION,
        observe=OBSERVE,
    )
