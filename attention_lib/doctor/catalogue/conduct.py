"""How a candidate behaves: gradients, memory, numbers, errors."""

TEXT = """
mutates-input | 06_weighted_sum | mistake
The inputs are changed in place
    Replace in-place operations (`/=`, `masked_fill_`, `x[...] =`) on inputs by new tensors.

gradient-cut | 11_training | mistake
The gradient does not arrive
    Remove `.data`, `.detach()`, `.item()`, `torch.no_grad()` and NumPy from the path from input to output.

gradient-wrong | 11_training | mistake
The output is right but its gradient is not
    Look for detached parts, custom backward passes and in-place changes.

state-kept | 12_long_sequences | mistake
The result depends on earlier calls
    Keep nothing on `self` or in globals between calls; pass a cache explicitly.

batch-dependent | 07_masks | mistake
The result for one sequence depends on the others in its batch
    Only the key axis may be summed over; look at the `dim` of every reduction.

half-overflow | 07_masks | remark
Half precision fails
    Fill with `float('-inf')` or `torch.finfo(scores.dtype).min`, and run the softmax in float32.

wrong-dtype | 05_softmax | mistake
The output has another dtype than the input
    Create tensors like the input: `torch.zeros_like(...)`, `dtype=query.dtype`.

inaccurate | 05_softmax | mistake
In float32 the output is inaccurate
    Add no large numbers to all scores: blocked ones get -inf, allowed ones stay as they are.

precision-lost | 05_softmax | remark
Precision is lost: float64 inputs come back as float32
    Create tensors like the input: `torch.zeros_like(...)`, `dtype=query.dtype`.

wrong-shape | 06_weighted_sum | mistake
The output has the wrong shape
    The output has the query's axes and the values' width: (B, L, d_v) or (B, H, L, d_v).

nan-output | 05_softmax | mistake
The output is NaN or infinite on ordinary inputs
    Look for a division by zero, a logarithm of 0 or a row that is masked completely.

raises | 03_query_key_value | mistake
The candidate raises an error
    See the traceback.

time-limit | 03_query_key_value | mistake
The candidate does not finish
    Look for a loop that never ends; a slow but correct one may be given more time: `time_limit=60`.

exits | 03_query_key_value | mistake
The candidate tries to end the program
    Remove `sys.exit()` and `quit()`.

not-callable | 03_query_key_value | mistake
The candidate cannot be called as attention
    Give a function `f(query, key, value, mask=None)`, an `nn.Module`, or a small wrapper.

doctor-failed | 03_query_key_value | mistake
The doctor itself failed on this candidate
    Please report it with the candidate's code; compare with `attention_lib.attention` by hand.

differs | 06_weighted_sum | mistake
Differs from attention, cause unknown
    Compare your steps with the smallest failing input above, one at a time: scores, mask, softmax, weighted sum.
"""
