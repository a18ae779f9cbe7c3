"""Chapter 13's claims: which parts a transformer needs, and what attention brings to a small image network."""

import pytest
import torch

from attention_lib.errors import OptionError
from attention_lib.experiments import load_result, mobilevit_training, numeral_parts
from attention_lib.layers.blocks import EncoderLayer
from attention_lib.models.mobilevit import MobileViTClassifier
from attention_lib.tasks.numerals import numeral_batch


def _first_layers(part: str) -> tuple[EncoderLayer, EncoderLayer]:
    """The first encoder layer of the complete model and of the one without a part, with the same weights."""
    layers = []
    for name in ("complete", part):
        torch.manual_seed(3)
        layers.append(numeral_parts.build(name).encoder.layers[0])
    return layers[0], layers[1]


def test_without_shortcuts_a_layer_is_its_parts_one_after_the_other():
    whole, cut = _first_layers("no shortcuts")
    x = torch.randn(2, 5, 32)
    attended = whole.attention(whole.norm_1(x)).output
    expected = whole.feed_forward(whole.norm_2(attended))
    torch.testing.assert_close(cut(x).output, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(whole(x).output, expected, atol=1e-2)


def test_without_layer_norm_or_feed_forward():
    x = torch.randn(2, 5, 32)
    whole, bare = _first_layers("no layer norm")
    attended = x + whole.attention(x).output
    torch.testing.assert_close(bare(x).output, attended + whole.feed_forward(attended))
    whole, narrow = _first_layers("no feed-forward")
    torch.testing.assert_close(narrow(x).output, x + whole.attention(whole.norm_1(x)).output)


def test_without_positions_the_order_of_the_digits_is_lost():
    model = numeral_parts.build("no positions").eval()
    source = torch.tensor([[4, 5, 7, 3]])
    target = torch.tensor([[1, 6, 8]])
    torch.testing.assert_close(model(source, target).logits, model(source.flip(1), target).logits)
    complete = numeral_parts.build().eval()
    assert not torch.allclose(complete(source, target).logits, complete(source.flip(1), target).logits, atol=1e-3)


def test_an_untrained_model_starts_near_guessing_and_knows_no_number():
    torch.manual_seed(0)
    model = numeral_parts.build().eval()
    loss = numeral_parts.numeral_loss(model, numeral_batch(17, generator=torch.Generator().manual_seed(1)))
    assert 2.0 < loss.item() < 5.0  # ln 18 = 2.9
    assert numeral_parts.share_right(model, torch.Generator().manual_seed(2), count=23) < 0.1


@pytest.mark.bad_input
def test_unknown_parts_are_refused():
    with pytest.raises(OptionError, match="part='no mask' is not known; choose one of: complete, no feed-forward, no"):
        numeral_parts.build("no mask")
    for experiment in (numeral_parts, mobilevit_training):
        with pytest.raises(OptionError, match="budget='huge' is not known; choose one of: smoke, full"):
            experiment.run("huge")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_numerals_need_positions(seed):
    measured = numeral_parts.run("smoke", seeds=[seed])
    assert measured.exact["complete"][0] > 0.8
    assert measured.exact["no positions"][0] < 0.55
    assert measured.steps == [50, 100, 150]


def test_teaching_is_deterministic_whatever_the_threads():
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        first = (
            numeral_parts.teach(steps=7, seed=3).losses,
            mobilevit_training.train_network("MobileViT", "far corners", steps=3, seed=3),
        )
        torch.set_num_threads(1)
        assert first[0] == numeral_parts.teach(steps=7, seed=3).losses
        assert first[1] == mobilevit_training.train_network("MobileViT", "far corners", steps=3, seed=3)
    finally:
        torch.set_num_threads(threads)


def test_flops_by_hand():
    """Multiplications and additions: one 3 x 3 convolution of C to D channels costs 18 C D a pixel."""
    stem, other = 100 * 18 * 1 * 12, 18 * 12 * 12
    assert mobilevit_training.flops("CNN") == stem + 2 * 100 * other + 48
    assert mobilevit_training.flops("CNN, pooling") == stem + (100 + 25) * other + 48
    d, d_ff, patches, places = 32, 64, 25, 4
    attention = places * (2 * 4 * patches * d * d + 2 * 2 * patches * patches * d)
    feed_forward = places * 2 * 2 * patches * d * d_ff
    convolutions = 100 * (18 * 8 + 18 * 8 * 8 + 2 * 8 * d + 2 * d * 8 + 18 * 16 * 8)
    assert mobilevit_training.flops("MobileViT") == attention + feed_forward + convolutions + 2 * 8 * 2
    assert mobilevit_training.flops("no attention") == mobilevit_training.flops("MobileViT")


def test_parameters_by_hand():
    assert mobilevit_training.parameters("CNN") == 12 * 9 + 2 * 12 * 12 * 9 + 3 * 12 + 3 * 24 + 12 * 2 + 2
    network = MobileViTClassifier(10, 8, mobilevit_training.SPEC, 1)
    assert mobilevit_training.parameters("MobileViT", 10) == sum(p.numel() for p in network.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_far_corners_need_attention(seed):
    right = mobilevit_training.run("smoke", seeds=[seed]).accuracy["far corners"]
    assert right["MobileViT"][0] > 0.9
    assert right["CNN"][0] < 0.8
    assert right["no attention"][0] < 0.8


def test_recorded_runs():
    exact = load_result("numeral_parts").result.exact
    assert min(exact["complete"]) > 0.9
    assert max(exact["no positions"]) < 0.5
    assert max(exact["no shortcuts"]) < 0.1
    right = load_result("mobilevit_training").result.accuracy["far corners"]
    assert min(right["MobileViT"]) > 0.95
    assert max(right["CNN"] + right["no attention"]) < 0.8
