"""The doctor never crashes, never hangs, and leaves everything as it found it."""

import random
import threading
import time

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attention_lib import MultiHeadAttention
from attention_lib.doctor import diagnose
from attention_lib.errors import OptionError


def healthy(query, key, value, mask=None):
    return F.scaled_dot_product_attention(query, key, value, mask)


def careless(query, key, value, mask=None):
    torch.manual_seed(99)
    random.seed(99)
    np.random.seed(99)
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.use_deterministic_algorithms(True)
    print("noise" * 100)
    return healthy(query, key, value, mask)


def snapshot():
    return (
        torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist(), torch.get_default_dtype(),
        torch.is_grad_enabled(), torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(),
    )  # fmt: skip


@pytest.mark.bad_input  # the checker of annotations draws random numbers itself
@pytest.mark.parametrize("grad", [True, False])
def test_global_state_is_left_as_it_was(grad, capsys):
    with torch.set_grad_enabled(grad):
        before = snapshot()
        diagnosis = diagnose(careless, time_limit=60)  # the first determinism switch imports a lot
        assert snapshot() == before
    assert diagnosis.codes == ("gradient-cut",)  # it turns gradients off, after all
    assert capsys.readouterr() == ("", "")


def test_a_module_is_left_as_it_was():
    layer = MultiHeadAttention(12, 3, dropout_p=0.1).train()
    layer.w_k.eval()
    layer.w_q.weight.requires_grad_(False)
    layer.w_q.weight.grad = torch.ones(12, 12)
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    assert diagnose(layer, "multi_head").ok
    assert layer.training
    assert not layer.w_k.training
    assert not layer.w_q.weight.requires_grad
    assert torch.equal(layer.w_q.weight.grad, torch.ones(12, 12))
    assert layer.w_q.weight.dtype == torch.float32
    assert all(torch.equal(before[name], tensor) for name, tensor in layer.state_dict().items())


def test_a_parametrised_module_still_works_afterwards():
    layer = MultiHeadAttention(12, 3).eval()
    linear = next(part for part in layer.modules() if isinstance(part, nn.Linear))
    nn.utils.parametrizations.weight_norm(linear)
    x = torch.randn(2, 5, 12)
    before = layer(x)
    assert diagnose(layer, "multi_head")
    assert diagnose(layer, "multi_head", seed=1)
    after = layer(x)
    pairs = zip(before, after, strict=True) if isinstance(before, tuple) else [(before, after)]
    assert all(torch.equal(old, new) for old, new in pairs if old is not None)


class Uncopyable(MultiHeadAttention):
    def __deepcopy__(self, memo):
        raise TypeError("cannot be copied")


def test_a_module_that_cannot_be_copied_is_examined_in_place_and_left_as_it_was():
    layer = Uncopyable(12, 3).train()
    before = {name: tensor.clone() for name, tensor in layer.state_dict().items()}
    assert diagnose(layer, "multi_head").ok
    assert layer.training
    assert all(torch.equal(before[name], tensor) for name, tensor in layer.state_dict().items())


def loops_for_ever(query, key, value):
    while True:
        pass


def swallows_everything(query, key, value):
    while True:
        try:
            time.sleep(0.001)
        except BaseException:
            if threading.current_thread().name != "attention-doctor":
                raise


def sleeps(query, key, value):
    time.sleep(1.5)
    return healthy(query, key, value)


@pytest.mark.parametrize("candidate", [loops_for_ever, sleeps])
def test_what_does_not_finish_is_stopped(candidate):
    start = time.perf_counter()
    diagnosis = diagnose(candidate, time_limit=0.2)
    assert time.perf_counter() - start < 5
    assert not diagnosis.examined
    assert diagnosis.codes == ("time-limit",)


def ends_the_program(query, key, value):
    raise SystemExit(0)


def interrupts(query, key, value):
    raise KeyboardInterrupt


def recurses(query, key, value):
    return recurses(query, key, value)


class CannotPrintItself(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def raises_strangely(query, key, value):
    raise CannotPrintItself


def returns(value):
    def candidate(query, key, value_):
        return value(query) if callable(value) else value

    return candidate


BAD = {
    "exits": (ends_the_program, "exits"), "interrupts": (interrupts, "exits"), "recurses": (recurses, "raises"),
    "raises strangely": (raises_strangely, "raises"), "None": (returns(None), "raises"),
    "text": (returns("output"), "raises"), "empty tuple": (returns(()), "raises"), "number": (returns(3.0), "raises"),
    "scalar": (returns(lambda q: q.sum()), "wrong-shape"), "no rows": (returns(lambda q: q[..., :0, :]), "wrong-shape"),
    "NaN": (returns(lambda q: q * float("nan")), None), "integers": (returns(lambda q: q.long()), None),
    "zeros": (returns(torch.zeros_like), None), "complex": (returns(lambda q: q.to(torch.complex128)), None),
    "sparse": (returns(lambda q: q.flatten(0, -2).to_sparse()), None),
    "meta": (returns(lambda q: q.to("meta")), None),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_candidates_get_an_answer(name):
    candidate, code = BAD[name]
    diagnosis = diagnose(candidate, time_limit=2.0)
    assert not diagnosis.ok
    assert "doctor-failed" not in diagnosis.codes, str(diagnosis)
    if code is not None:
        assert diagnosis.codes == (code,)
    assert str(diagnosis)
    assert diagnosis._repr_html_()
    assert diagnosis.to_json()


@pytest.mark.parametrize("candidate", [None, 3, "attention", torch.zeros(2), [], nn.Linear(2, 3), nn.Identity()])
@pytest.mark.parametrize("kind", ["attention", "multi_head", "split_heads"])
def test_what_is_no_attention_gets_an_answer(candidate, kind):
    diagnosis = diagnose(candidate, kind)
    assert not diagnosis.ok
    assert "doctor-failed" not in diagnosis.codes, str(diagnosis)


def test_the_candidates_own_traceback_is_shown():
    def my_attention(query, key, value):
        return query @ key @ value

    (finding,) = diagnose(my_attention).findings
    assert "my_attention" in finding.evidence
    assert "return query @ key @ value" in finding.evidence
    assert "guard.py" not in finding.evidence


def test_unknown_kinds_and_conventions_raise():
    with pytest.raises(OptionError, match=r"kind='attn' is not known; choose one of attention, multi_head"):
        diagnose(healthy, "attn")
    with pytest.raises(OptionError, match=r"mask='keep' is not known; choose one of allowed, blocked, additive"):
        diagnose(healthy, mask="keep")


def test_the_same_seed_gives_the_same_words():
    def unscaled(q, k, v):
        return (q @ k.mT).softmax(-1) @ v

    assert str(diagnose(unscaled)) == str(diagnose(unscaled))
    assert "2.45x too large" in str(diagnose(unscaled))


@pytest.mark.gpu
def test_a_module_on_a_gpu():
    layer = MultiHeadAttention(12, 3).cuda()
    assert diagnose(layer, "multi_head").ok
    assert layer.w_q.weight.is_cuda
