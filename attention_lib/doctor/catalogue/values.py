"""Mistakes between weights and output."""

TEXT = """
value-from-key | 06_weighted_sum | mistake
The values are the keys
    `w_v` must make the values, and the weights must mix them: `weights @ v`.

value-from-query | 06_weighted_sum | mistake
The values are the queries
    `w_v` must make the values, and the weights must mix them: `weights @ v`.

values-unweighted | 06_weighted_sum | mistake
The values are averaged without the weights
    Mix them with the weights: `output = weights @ value`.

weights-transposed | 06_weighted_sum | mistake
The weights are transposed before the weighted sum
    Row i of the weights belongs to query i: `output = weights @ value`.

returns-weights | 06_weighted_sum | mistake
The weights are returned in place of the output
    Mix the values first: `output = weights @ value`.

returns-scores | 06_weighted_sum | mistake
The scores are returned in place of the output
    `output = torch.softmax(scores, dim=-1) @ value`.

returned-weights-wrong | 10_dropout_and_modes | mistake
The output is right but the weights returned with it are not
    Return the very weights that mixed the values, after mask and softmax and before dropout.

adds-residual | 13_transformer_and_mobilevit | variant
The input is added to the output inside
    Leave the residual to the block around: `x = x + attention(x)`. If it belongs here, declare it:
    `variants=('residual',)`.
"""
