"""The four steps in a row."""

import torch
from support import assert_near, random_inputs

from attention_lib import dot_product_scores, masked_softmax, weighted_sum
from attention_lib.paths.explicit import explicit_attention, explicit_weights


def test_it_is_the_four_public_steps():
    query, key, value = random_inputs()
    mask = torch.rand(5, 7) < 0.6
    weights = masked_softmax(dot_product_scores(query, key, scale=0.4), mask)
    output, shown = explicit_attention(query, key, value, mask, scale=0.4, dropout_p=0.0)
    assert_near(shown, weights)
    assert_near(output, weighted_sum(weights, value))


def test_weights_stay_wide_inside_and_come_back_narrow():
    query, key, value = (tensor.half() for tensor in random_inputs())
    assert explicit_weights(query, key, None, scale=None).dtype == torch.float32
    output, weights = explicit_attention(query, key, value, None, scale=None, dropout_p=0.0)
    assert output.dtype == weights.dtype == torch.float16


def test_dropout_draws_from_torchs_generator():
    query, key, value = random_inputs()
    outputs = []
    for _ in range(2):
        torch.manual_seed(11)
        outputs.append(explicit_attention(query, key, value, None, scale=None, dropout_p=0.5)[0])
    assert torch.equal(*outputs)
