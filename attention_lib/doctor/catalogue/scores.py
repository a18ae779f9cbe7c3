"""Mistakes on the way to the scores."""

TEXT = """
missing-scale | 04_scores_and_scaling | mistake
The scores are not divided by sqrt(d_k)
    Divide by the root of the key width: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

scale-by-d | 04_scores_and_scaling | mistake
The scores are divided by d_k instead of its root (or by the root twice)
    Divide once, by the root: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

scale-by-heads | 04_scores_and_scaling | mistake
The scores are divided by the root of the number of heads
    The variance of a dot product grows with d_k, the width of one head: `scores = query @ key.transpose(-2, -1) /
    math.sqrt(query.size(-1))`.

scale-by-model | 04_scores_and_scaling | mistake
The scores are divided by the root of d_model instead of the width of one head
    Use the last axis *after* splitting: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

scale-multiplied | 04_scores_and_scaling | mistake
The scores are multiplied by sqrt(d_k) instead of divided
    Divide: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

scale-negative | 04_scores_and_scaling | mistake
The scores have the wrong sign: the least similar key wins
    Remove the minus: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

wrong-scale | 04_scores_and_scaling | mistake
The scores are scaled by the wrong factor
    The factor is 1/sqrt(d_k): `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`. If you mean
    another, declare it: `diagnose(..., scale=your_factor)`.

query-key-swapped | 03_query_key_value | mistake
Query and key have changed places
    Rows belong to queries, columns to keys: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

key-unused | 03_query_key_value | mistake
The key is not used: queries are compared with something else
    Compare every query with every key: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

query-unused | 03_query_key_value | mistake
The query is not used: keys are compared with something else
    Compare every query with every key: `scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))`.

missing-projection | 03_query_key_value | mistake
A projection is not applied: the raw input takes its place
    Project each input with its own matrix: `q, k, v = w_q(query), w_k(key), w_v(value)`.

shared-projection | 03_query_key_value | mistake
Query and key are projected with the same matrix
    Use each projection for its own input: `q, k = w_q(query), w_k(key)`.

missing-bias | 03_query_key_value | mistake
A projection's bias is left out
    Call the layer, `w_q(x)`, rather than multiplying with `w_q.weight`.

input-mixed-up | 03_query_key_value | mistake
A projection is applied to the wrong input: query, key and value inputs are mixed up
    `q, k, v = w_q(query), w_k(key), w_v(value)`: queries come from one sequence, keys and values from the other.
"""
