"""Mistakes that only training shows."""

TEXT = """
dropout-in-eval | 10_dropout_and_modes | mistake
The result is random outside training
    Drop only in training: `nn.Dropout`, or `F.dropout(weights, p, training=self.training)`.

dropout-not-rescaled | 10_dropout_and_modes | mistake
Dropout does not rescale what it keeps
    Divide the kept weights by 1 - p, as `nn.Dropout` does.

dropout-before-softmax | 10_dropout_and_modes | mistake
Dropout acts before the softmax
    Drop weights, after the softmax: `weights = dropout(torch.softmax(scores, dim=-1))`.

train-differs | 10_dropout_and_modes | mistake
Training mode computes something else, and not by dropout
    With dropout at 0 the two modes must agree.
"""
