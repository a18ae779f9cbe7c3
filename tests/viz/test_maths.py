"""The page's arithmetic against torch: the same modules, run without a browser."""

import json

import pytest
import torch

import attention_lib as al
from attention_lib.experiments import dependent_steps, load_result
from attention_lib.layers.recurrent import LSTM
from attention_lib.viz.bundle import modules, source, strip
from attention_lib.viz.mask_painter import _combined
from attention_lib.viz.saturation import row
from attention_lib.viz.tiny import _in_steps

quickjs = pytest.importorskip("quickjs")
PLAIN = """const plain = (x) => x instanceof Float64Array || x instanceof Float32Array ? [...x] : x;
const answer = (x) => JSON.stringify(x, (_, v) => plain(v));"""


def load(module):
    """A function that evaluates an expression over json arguments, with a module's names in scope."""
    context = quickjs.Context()
    context.eval("\n".join([PLAIN, *(strip(source(name)) for name in modules(module) if name != "base")]))

    def call(expression, **arguments):
        given = "".join(f"const {name} = {json.dumps(value)};" for name, value in arguments.items())
        return json.loads(context.eval(f"(() => {{{given} return answer({expression});}})()"))

    return call


@pytest.fixture(scope="module")
def maths():
    return load("maths")


def test_dots_by_hand(maths):
    assert maths("dots([1, 2], [3, 4, 5, 6], 1, 2, 2, 2)") == [11, 17]
    assert maths("dots([1, 2], [3, 4, 5, 6], 1, 2, 2, 1)") == [3, 5]


@pytest.mark.parametrize("width", [1, 3, 11])
def test_scores_equal_torchs(maths, width):
    q, k = torch.randn(5, 11).double(), torch.randn(7, 11).double()
    found = maths("dots(q, k, 5, 7, 11, w)", q=q.flatten().tolist(), k=k.flatten().tolist(), w=width)
    theirs = al.dot_product_scores(q[:, :width], k[:, :width], scale=1.0)
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64).view(5, 7), theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_softmax_equals_torchs(maths, size):
    scores = size * torch.randn(5, 7).double()
    found = torch.tensor(maths("softmaxRows(s, 5, 7)", s=scores.flatten().tolist()), dtype=torch.float64).view(5, 7)
    torch.testing.assert_close(found, al.masked_softmax(scores), rtol=1e-12, atol=1e-12)


def test_softmax_with_a_mask_and_an_empty_row(maths):
    scores = torch.randn(5, 5).double()
    found = maths("softmaxRows(s, 5, 5, (i, j) => j < i)", s=scores.flatten().tolist())
    mask = torch.ones(5, 5).tril(-1).bool()
    assert not mask[0].any()
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64).view(5, 5), al.masked_softmax(scores, mask))


def test_weighted_sums_equal_torchs(maths):
    w, v = torch.rand(3, 5).double(), torch.randn(5, 2).double()
    found = maths("mix(w, v, 3, 5, 2)", w=w.flatten().tolist(), v=v.flatten().tolist())
    torch.testing.assert_close(torch.tensor(found, dtype=torch.float64).view(3, 2), al.weighted_sum(w, v))


@pytest.mark.parametrize("d", [1, 8, 512])
@pytest.mark.parametrize("power", [0.0, -0.5])
def test_gradient_from_dot_products_equals_autograds(d, power):
    statistics = load("saturation-maths")
    q, k, v = torch.randn(d), torch.randn(7, d), torch.randn(7)
    scores, gram = k.double() @ q.double(), k.double() @ k.double().T
    found = statistics("statistics(s, g, v, scale)", s=scores.tolist(), g=gram.flatten().tolist(), v=v.tolist(),
                       scale=d**power)  # fmt: skip
    largest, gradient = row(q, k, v, d, d**power)
    assert found["largest"] == pytest.approx(largest, rel=1e-9)
    assert found["gradient"] == pytest.approx(gradient, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(
    "use",
    [{}, {"causal": 1}, {"padding": 1, "length": 3}, {"window": 1, "w": 2}, {"block": 1, "b": 3},
     {"causal": 1, "padding": 1, "length": 2, "window": 1, "w": 2, "block": 1, "b": 2}],
)  # fmt: skip
def test_masks_equal_pythons(use):
    mask = load("mask-maths")
    found = mask("Array.from({length: 7}, (_, i) => Array.from({length: 7}, (_, j) => !!allowed(i, j, use)))", use=use)
    theirs = _combined(7, None, bool(use.get("causal")), use.get("length"), use.get("w"), use.get("b"))
    assert found == theirs.tolist()
    counted = mask("count(m)", m=found)
    assert counted["pairs"] == theirs.sum()
    assert counted["empty"] == (~theirs.any(dim=1)).nonzero().flatten().tolist()
    assert counted["widest"] == theirs.sum(dim=1).max()


def test_a_causal_window_is_the_librarys():
    assert torch.equal(_combined(7, None, True, None, 3, None), al.window_mask(7, window=3))


@pytest.mark.parametrize("n", [2, 11, 64])
def test_steps_are_those_that_the_library_counts(n):
    text = source("rnn-vs-attention")
    lines = [line for line in text.splitlines() if line.startswith(("export const steps", "export const path"))]
    assert len(lines) == 2
    context = quickjs.Context()
    context.eval("\n".join(lines).replace("export ", ""))
    found = json.loads(context.eval(f"JSON.stringify([steps({n}), path(1, {n} - 1)])"))
    expected = {
        "rnn": dependent_steps.steps_of(LSTM(8, 8), n),
        "attention": dependent_steps.steps_of(al.SelfAttention(8), n),
    }
    assert found == [expected, {"rnn": n - 2, "attention": 1}]


@pytest.fixture(scope="module")
def tiny():
    return load_result("tiny_induction").result.model()


@pytest.mark.parametrize("length", [1, 7, 20])
def test_the_forward_pass_equals_torchs(tiny, length):
    forward = load("tiny-maths")
    tokens = torch.randint(16, (1, length))
    parts = [(name, *_in_steps(name, tensor)) for name, tensor in tiny.state_dict().items()]
    table = [[name, *steps.shape, scale.tolist()] for name, steps, scale in parts]
    numbers = torch.cat([steps.flatten() for _, steps, _ in parts]).tolist()
    found = forward("forward(unpack(table, bytes), tokens)", table=table, bytes=numbers, tokens=tokens[0].tolist())
    logits, weights = tiny(tokens, need_weights=True)
    torch.testing.assert_close(torch.tensor(found["logits"]).view(length, 16), logits[0], rtol=0, atol=1e-4)
    for ours, theirs in zip(found["weights"], weights, strict=True):
        torch.testing.assert_close(torch.tensor(ours).float().view(length, length), theirs[0, 0], rtol=0, atol=1e-5)
