"""Schedules by hand and by their properties; losses; the loop against a loop written out."""

import math
import sys

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.training.loop import train
from attention_lib.training.losses import exact_match, token_accuracy, token_loss
from attention_lib.training.schedules import lambda_lr, vaswani, warmup_constant, warmup_cosine, warmup_inverse_sqrt


def test_vaswani_is_the_papers_formula():
    for step in (1, 7, 400, 401, 10_007):
        want = 64 ** (-0.5) * min(step ** (-0.5), step * 400 ** (-1.5))
        assert vaswani(step, d_model=64, warmup_steps=400) == want
    rates = [vaswani(step, d_model=64, warmup_steps=400) for step in range(1, 2000)]
    assert rates.index(max(rates)) + 1 == 400
    assert max(rates) == pytest.approx((64 * 400) ** -0.5)


def test_inverse_sqrt_is_vaswanis_shape_with_its_peak_at_one():
    peak = vaswani(13, d_model=7, warmup_steps=13)
    for step in range(1, 101):
        want = vaswani(step, d_model=7, warmup_steps=13) / peak
        assert warmup_inverse_sqrt(step, warmup_steps=13) == pytest.approx(want, abs=1e-12)


def test_cosine_by_hand():
    options = {"warmup_steps": 3, "total_steps": 11, "floor": 0.2}
    assert warmup_cosine(1, **options) == pytest.approx(1 / 3)
    assert warmup_cosine(3, **options) == 1.0
    assert warmup_cosine(5, **options) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 4)) / 2)
    assert warmup_cosine(11, **options) == warmup_cosine(99, **options) == pytest.approx(0.2)


@pytest.mark.parametrize(
    "schedule",
    [
        lambda step, w: warmup_constant(step, warmup_steps=w),
        lambda step, w: warmup_inverse_sqrt(step, warmup_steps=w),
        lambda step, w: warmup_cosine(step, warmup_steps=w, total_steps=31),
    ],
)
@pytest.mark.parametrize("warmup", [0, 1, 13])
def test_straight_up_then_never_up_again(schedule, warmup):
    rates = [schedule(step, warmup) for step in range(1, 50)]
    for step in range(1, warmup + 1):
        assert rates[step - 1] == pytest.approx(step / warmup)
    after = rates[max(warmup, 1) - 1 :]
    assert after == sorted(after, reverse=True)
    assert max(rates) <= 1.0
    assert min(rates) >= 0.0


def test_lambda_lr_gives_step_one_first():
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler, seen = lambda_lr(optimizer, lambda step: float(step)), []
    for _ in range(3):
        seen.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert seen == [0.5, 1.0, 1.5]


def test_token_loss_by_hand():
    logits = torch.tensor([[[0.0, math.log(3.0)], [5.0, 1.0]]], dtype=torch.float64)
    assert token_loss(logits, torch.tensor([[1, 7]]), ignore=7).item() == pytest.approx(math.log(4 / 3))
    both = token_loss(logits, torch.tensor([[1, 0]])).item()
    assert both == pytest.approx((math.log(4 / 3) + math.log(1 + math.exp(-4))) / 2)
    assert token_accuracy(logits, torch.tensor([[1, 1]])) == 0.5
    assert token_accuracy(logits, torch.tensor([[1, 1]]), ignore=1) != 0.5


def test_exact_match_ignores_trailing_padding_alone():
    written = torch.tensor([[5, 6, 2, 0], [5, 6, 2, 4], [5, 2, 0, 0]])
    assert exact_match(written, torch.tensor([[5, 6, 2]] * 3)) == pytest.approx(1 / 3)
    assert exact_match(written[:, :3], torch.tensor([[5, 6, 2, 0, 0]] * 3)) == pytest.approx(2 / 3)


def test_the_loop_equals_a_loop_written_out():
    torch.manual_seed(3)
    model, by_hand = nn.Linear(3, 2).double(), nn.Linear(3, 2).double()
    by_hand.load_state_dict(model.state_dict())
    batches = [torch.randn(5, 3, dtype=torch.float64) for _ in range(7)]
    loss = lambda model, x: (model(x) ** 2).sum()  # noqa: E731
    options = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (model, by_hand)]
    model.eval()
    history = train(
        model, batches, loss, options[0], schedule=lambda s: warmup_constant(s, warmup_steps=4), clip_norm=0.5
    )
    losses, norms = [], []
    for step, batch in enumerate(batches, start=1):
        options[1].param_groups[0]["lr"] = 0.1 * min(1, step / 4)
        value = loss(by_hand, batch)
        options[1].zero_grad()
        value.backward()
        norms.append(nn.utils.clip_grad_norm_(by_hand.parameters(), 0.5).item())
        options[1].step()
        losses.append(value.item())
    assert history.losses == pytest.approx(losses, rel=1e-12)
    assert history.gradient_norms == pytest.approx(norms, rel=1e-12)
    assert history.learning_rates == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1, 0.1])
    assert torch.equal(model.weight, by_hand.weight)
    assert not model.training


def test_progress_needs_no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    history = train(model, range(3), lambda m, b: m.weight.sum(), optimizer, progress="steps")
    assert len(history.losses) == 3


def test_a_bar_with_its_name_when_tqdm_is_there(capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    model = nn.Linear(1, 1)
    train(model, range(3), lambda m, b: m.weight.sum(), torch.optim.SGD(model.parameters(), lr=0.1), progress="steps")
    assert "steps" in capsys.readouterr().err


@pytest.mark.bad_input
def test_errors_name_both_values():
    for call, message in (
        (lambda: warmup_constant(0, warmup_steps=3), "step=0 must be 1 or more; the first step is 1"),
        (lambda: warmup_inverse_sqrt(1, warmup_steps=-3), "warmup_steps=-3 must be 0 or more"),
        (lambda: warmup_cosine(1, warmup_steps=5, total_steps=5), "total_steps=5 must be more than warmup_steps=5"),
        (lambda: vaswani(1, d_model=0), "d_model=0 must be 1 or more"),
        (lambda: vaswani(1, d_model=7, warmup_steps=0), "warmup_steps=0 must be 1 or more"),
    ):
        with pytest.raises(OptionError, match=message):
            call()
    with pytest.raises(ShapeError, match=r"target has shape \(2, 5\) beside logits of shape \(2, 7, 3\); .* \(2, 7\)"):
        token_loss(torch.zeros(2, 7, 3), torch.zeros(2, 5).long())
    with pytest.raises(ShapeError, match=r"written has shape \(2, 3\) but target \(5, 3\)"):
        exact_match(torch.zeros(2, 3).long(), torch.zeros(5, 3).long())
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    with pytest.raises(OptionError, match="clip_norm=0 must be above 0"):
        train(model, [], lambda m, b: m.weight.sum(), optimizer, clip_norm=0)
    with pytest.raises(OptionError, match=r"the loss is nan at step 2, the learning rate 0.25; .*warm up"):
        train(model, [1.0, torch.nan], lambda m, b: m.weight.sum() * b, optimizer)
