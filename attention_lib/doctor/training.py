"""Training mode: what dropout must leave as it is."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from attention_lib.doctor.pipeline import Recipe, evaluate, output_of
from attention_lib.doctor.report import Report
from attention_lib.doctor.subject import Layout, Subject

__all__ = ["check_training"]


def check_training(subject: Subject, layout: Layout, recipe: Recipe, report: Report) -> None:
    """Dropout must act in training only, must keep the mean, and must act on weights or later."""
    if "dropout-in-eval" in report.findings or not subject.can_train:
        return
    tensors = subject.draw(layout, 0, subject.generator(10))
    if _differs_without_dropout(subject, layout, tensors, report):
        return
    many = {role: t[:1].expand(96, *t.shape[1:]) if layout.rank > 2 else t for role, t in tensors.items()}
    seeds = range(1, 3) if layout.rank > 2 else range(1, 97)
    with subject.dropout(0.5):
        plain = subject.run(many, layout)
        replies = [subject.run(many, layout, train=True, seed=seed) for seed in seeds]
    if plain.output is None or any(reply.output is None for reply in replies) or bool(plain.output.isnan().any()):
        return
    still = plain.output.detach().double()[:1]
    outputs = [reply.output.detach().double() for reply in replies if reply.output is not None]
    samples = torch.cat(outputs)
    if float((samples - still).abs().max()) < 20 * layout.tolerance:
        return
    if float((outputs[0] - outputs[1]).abs().max()) < 1e-7:
        moved = float((samples - still).abs().max())
        report.add("train-differs", f"In training mode the output moves by up to {moved:.2f}, always in the same way.")
        return
    if subject.normed_after:  # a mean of normalised outputs says nothing
        return
    case = subject.case(many, layout, plain)
    nothing = output_of(recipe, case, torch.zeros_like(evaluate(recipe, case)[1]))[:1]  # the output's bias alone
    _judge_dropout(samples - nothing, still - nothing, report)


def _differs_without_dropout(subject: Subject, layout: Layout, tensors: dict[str, Tensor], report: Report) -> bool:
    """With every dropout layer at p = 0, training mode must compute what evaluation does."""
    with subject.dropout(0.0):
        replies = [subject.run(tensors, layout, train=seed > 0, seed=seed) for seed in (0, 1, 2)]
    outputs = [reply.output.detach().double() for reply in replies if reply.output is not None]
    if len(outputs) < 3 or not all(bool(output.isfinite().all()) for output in outputs):
        return False
    moved = float((outputs[1] - outputs[0]).abs().max())
    if moved < 20 * layout.tolerance or float((outputs[1] - outputs[2]).abs().max()) > 1e-7:
        return False
    report.add(
        "train-differs", f"With dropout switched off, training mode still moves the output by up to {moved:.2f}."
    )
    return True


def _judge_dropout(samples: Tensor, still: Tensor, report: Report) -> None:
    """Compare the mean over many samples with the output without dropout."""
    mean, spread = samples.mean(0), samples.std(0) / math.sqrt(len(samples))
    still = still[0]
    ratio = float((mean * still).sum() / still.square().sum().clamp_min(1e-12))
    noise = float((spread.square() * still.square()).sum().sqrt() / still.square().sum().clamp_min(1e-12))
    off = ((mean - still).abs() / spread.clamp_min(1e-6)).square().mean()
    if abs(ratio - 1.0) <= 6 * noise + 0.02 and float(off) < 4.0:
        return
    text = f"Over {len(samples)} calls in training mode the mean output is {ratio:.2f} times the output without dropout"
    rest = float(((mean - ratio * still).abs() / spread.clamp_min(1e-6)).square().mean())
    if ratio < 1.0 - 6 * noise and rest < 4.0:
        report.add("dropout-not-rescaled", f"{text}; it should be the same on average.")
    else:
        report.add("dropout-before-softmax", f"{text}, and it is another mixture of the values.")
