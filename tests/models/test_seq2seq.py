"""Sequence to sequence: equal to torch's cells by hand, padding, teacher forcing against free writing, errors."""

import pytest
import torch
from torch import nn

from attention_lib.errors import OptionError, ShapeError
from attention_lib.models.seq2seq import Seq2Seq
from attention_lib.tasks.copying import reversal_batch
from attention_lib.tasks.pairs import END, PAD, START, decoder_input
from attention_lib.training.loop import train
from attention_lib.training.losses import exact_match, token_loss

B, S, T, D, SOURCE, TARGET = 2, 7, 5, 11, 13, 17
KINDS = pytest.mark.parametrize("attention", [None, "dot", "additive"])
WAYS = pytest.mark.parametrize("bidirectional", [False, True])


def build(attention, bidirectional=False):
    model = Seq2Seq(SOURCE, TARGET, D, attention=attention, bidirectional=bidirectional).double()
    return model, torch.randint(SOURCE, (B, S)), torch.randint(TARGET, (B, T))


def step_by_step(model, attention, source, target_in):
    """The same model as a loop over nn.GRUCell and softmax, straight from the papers' formulas."""
    states, last = model.encoder(model.source_embedding(source))
    state, logits, every = last[0], [], []
    if attention != "additive":
        cell = nn.GRUCell(D, D).double()
        cell.load_state_dict({n.removesuffix("_l0"): p for n, p in model.decoder.cell.state_dict().items()})
    for token in target_in.unbind(1):
        x = model.target_embedding(token)
        if attention == "additive":
            scorer = model.decoder.scores
            scores = torch.tanh(scorer.w_q(state)[:, None] + scorer.w_k(states)) @ scorer.v  # (B, S)
            weights = torch.softmax(scores, dim=-1)
            found = torch.einsum("bs,bsd->bd", weights, states)
            state = model.decoder.cell(torch.cat((x, found), -1), state)
            features = torch.tanh(model.decoder.combine(torch.cat((found, state), -1)))
        else:
            state = features = cell(x, state)
            weights = torch.softmax(torch.einsum("bd,bsd->bs", state, states), dim=-1)
            if attention == "dot":
                found = torch.einsum("bs,bsd->bd", weights, states)
                features = torch.tanh(model.decoder.combine(torch.cat((found, state), -1)))
        logits.append(model.vote(features))
        every.append(weights)
    return torch.stack(logits, 1), torch.stack(every, 1)


@KINDS
def test_equal_to_the_formulas_step_by_step(attention):
    model, source, target_in = build(attention)
    logits, weights = model(source, target_in, need_weights=True)
    want_logits, want_weights = step_by_step(model, attention, source, target_in)
    torch.testing.assert_close(logits, want_logits, rtol=1e-6, atol=1e-9)
    if attention is None:
        assert weights is None
    else:
        torch.testing.assert_close(weights, want_weights, rtol=1e-6, atol=1e-9)
    assert model(source, target_in).weights is None


@KINDS
@WAYS
def test_padding_changes_nothing(attention, bidirectional):
    model, source, target_in = build(attention, bidirectional)
    lengths = torch.tensor([7, 4])
    logits, weights = model(source, target_in, lengths, need_weights=True)
    garbage = source.clone()
    garbage[1, 4:] = (garbage[1, 4:] + 1) % SOURCE
    torch.testing.assert_close(model(garbage, target_in, lengths).logits, logits)
    alone = model(source[1:, :4], target_in[1:]).logits
    torch.testing.assert_close(alone, logits[1:])
    if attention:
        torch.testing.assert_close(weights.sum(-1), torch.ones(B, T, dtype=torch.float64))
        assert not weights[1, :, 4:].any()


@KINDS
@WAYS
def test_what_it_writes_is_what_it_votes_for_when_told_the_same(attention, bidirectional):
    model, source, _ = build(attention, bidirectional)
    lengths = torch.tensor([5, 7])
    written, weights = model.greedy(source, lengths, start=START, longest=T)
    told = model(source, decoder_input(written), lengths, need_weights=True)
    assert torch.equal(told.logits.argmax(-1), written)
    if attention:
        torch.testing.assert_close(told.weights, weights)


@KINDS
def test_after_the_end_there_is_padding(attention):
    model, source, _ = build(attention)
    nn.init.zeros_(model.vote.weight)
    model.vote.bias.data = torch.eye(TARGET, dtype=torch.float64)[END]
    written, _ = model.greedy(source, start=START, end=END, longest=T)
    assert written.tolist() == [[END, PAD, PAD, PAD, PAD]] * B


@KINDS
def test_the_decoder_never_sees_a_later_token(attention):
    model, source, target_in = build(attention)
    changed = target_in.clone()
    changed[:, 3:] = (changed[:, 3:] + 1) % TARGET
    before, after = model(source, target_in).logits, model(source, changed).logits
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert (after[:, 3:] != before[:, 3:]).any()


@pytest.mark.slow
def test_attention_learns_reversal_where_the_fixed_vector_does_not():
    right = {}
    for attention in (None, "dot"):
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(0)
        model = Seq2Seq(11, 11, 48, attention=attention)
        batches = (reversal_batch(48, shortest=7, longest=8, generator=generator) for _ in range(350))
        train(
            model,
            batches,
            lambda m, b: token_loss(
                m(b.source, decoder_input(b.target), b.source_lengths).logits, b.target, ignore=PAD
            ),
            torch.optim.Adam(model.parameters(), 5e-3),
        )
        test = reversal_batch(256, shortest=8, longest=8, generator=generator)
        written, _ = model.greedy(test.source, test.source_lengths, start=START, end=END, longest=9)
        right[attention] = exact_match(written, test.target)
    assert right[None] < 0.2
    assert right["dot"] > 0.6


@pytest.mark.bad_input
def test_errors_name_both_values():
    model = Seq2Seq(13, 17, 11)
    with pytest.raises(OptionError, match=r"attention='luong' is not known; choose None, 'dot' or 'additive'"):
        Seq2Seq(13, 17, 11, attention="luong")
    with pytest.raises(OptionError, match="d_state=0 must be a whole number, 1 or more"):
        Seq2Seq(13, 17, 0)
    with pytest.raises(OptionError, match=r"source holds numbers from 3 to 13, but the model has symbols 0 ... 12"):
        model(torch.tensor([[3, 13]]), torch.tensor([[1]]))
    with pytest.raises(ShapeError, match=r"target_in has shape \(1,\) and dtype"):
        model(torch.tensor([[3, 12]]), torch.tensor([1]))
    with pytest.raises(ShapeError, match=r"lengths has shape \(2,\) but the tokens have shape \(1, 2\)"):
        model(torch.tensor([[3, 12]]), torch.tensor([[1]]), torch.tensor([2, 2]))
    with pytest.raises(OptionError, match=r"lengths run from 0 to 0; .*lie in 1 ... 2"):
        model(torch.tensor([[3, 12]]), torch.tensor([[1]]), torch.tensor([0]))
    with pytest.raises(OptionError, match="longest=0 must be a whole number"):
        model.greedy(torch.tensor([[3]]), start=1, longest=0)
