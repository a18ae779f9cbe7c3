"""What happens to notebooks on the way to the grader: forty changes that must not change a right answer's score."""

import copy
import json
import random

MANGLINGS = {}


def mangling(change):
    """Register a change: takes a notebook as json, returns one, or the text or bytes of a file."""
    MANGLINGS[change.__name__] = change
    return change


def text_of(cell):
    return "".join(cell["source"])


def code(source, **metadata):
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "added",
        "metadata": metadata,
        "outputs": [],
        "source": source,
    }


def is_answer(cell):
    return cell["cell_type"] == "code" and "VARIANT =" in text_of(cell)


def answers(notebook):
    return [cell for cell in notebook["cells"] if is_answer(cell)]


def keep(notebook, wanted):
    notebook["cells"] = [cell for cell in notebook["cells"] if wanted(cell)]
    return notebook


@mangling
def nothing_changed(n):
    return n


@mangling
def checks_deleted(n):
    return keep(n, lambda cell: "check(" not in text_of(cell))


@mangling
def everything_but_answers_deleted(n):
    return keep(n, is_answer)


@mangling
def set_up_deleted(n):
    n = keep(n, lambda cell: "assignment(" not in text_of(cell))
    answers(n)[0]["source"] = "import torch\n" + text_of(answers(n)[0])
    return n


@mangling
def metadata_stripped(n):
    for cell in n["cells"]:
        cell["metadata"] = {}
    n["metadata"] = {}
    return n


@mangling
def ids_stripped(n):
    for cell in n["cells"]:
        cell.pop("id", None)
    return n


@mangling
def ids_doubled(n):
    for cell in n["cells"]:
        cell["id"] = "same"
    return n


@mangling
def answer_cells_doubled(n):
    n["cells"] = [one for cell in n["cells"] for one in ([cell, copy.deepcopy(cell)] if is_answer(cell) else [cell])]
    return n


@mangling
def whole_notebook_doubled(n):
    n["cells"] += copy.deepcopy(n["cells"])
    return n


@mangling
def empty_stub_after_the_answer(n):
    made = []
    for cell in n["cells"]:
        made.append(cell)
        if is_answer(cell):
            made.append(
                code("def attention(query, key, value, mask=None):\n    raise NotImplementedError('your code here')")
            )
            made.append(code("def attention_backward(*arguments):\n    ..."))
    n["cells"] = made
    return n


@mangling
def first_attempts_before_the_answer(n):
    n["cells"].insert(3, code("def attention(query, key, value, mask=None):\n    return value  # first try"))
    return n


@mangling
def merged_into_one_cell(n):
    n["cells"] = [code("\n\n".join(["import torch", *(text_of(cell) for cell in answers(n))]))]
    return n


@mangling
def split_between_definitions(n):
    made = []
    for cell in n["cells"]:
        if is_answer(cell):
            made += [code(part) for part in text_of(cell).split("\n\n\n")]
        else:
            made.append(cell)
    n["cells"] = made
    return n


@mangling
def split_inside_a_definition(n):
    made = []
    for cell in n["cells"]:
        if is_answer(cell):
            lines = text_of(cell).split("\n")
            middle = next(k for k, line in enumerate(lines) if line.startswith("def ")) + 2
            made += [code("\n".join(lines[:middle])), code("\n".join(lines[middle:]))]
        else:
            made.append(cell)
    n["cells"] = made
    return n


@mangling
def shuffled_helpers(n):
    parts = [part for cell in answers(n) for part in text_of(cell).split("\n\n\n")]
    variant = [part for part in parts if "VARIANT =" in part]
    rest = [part for part in parts if "VARIANT =" not in part]
    random.Random(1).shuffle(rest)
    n["cells"] = [code("import torch"), *map(code, variant), *map(code, rest)]
    return n


@mangling
def markdown_removed(n):
    return keep(n, lambda cell: cell["cell_type"] == "code")


@mangling
def raw_cells_added(n):
    n["cells"].insert(0, {"cell_type": "raw", "metadata": {}, "source": "def attention(:"})
    return n


@mangling
def broken_cell_added(n):
    n["cells"].insert(2, code("def attention(query, key\n   return"))
    return n


@mangling
def broken_cell_between_the_answers(n):
    place = n["cells"].index(answers(n)[0]) + 1
    n["cells"].insert(place, code("for i in range(10) print(i)"))
    return n


@mangling
def cells_that_raise(n):
    n["cells"].insert(2, code("raise RuntimeError('left over')"))
    n["cells"].insert(2, code("1 / 0"))
    return n


@mangling
def cells_that_never_end(n):
    n["cells"].insert(2, code("while True:\n    pass"))
    n["cells"].append(code("input('continue?')"))
    return n


@mangling
def training_in_between(n):
    n["cells"].append(code("history = [attention(*(torch.randn(1, 1, 2, 2) for _ in range(3))) for _ in range(10**9)]"))
    return n


@mangling
def magics(n):
    n["cells"].insert(0, code("%matplotlib inline\n!pip install nothing\n%load_ext autoreload"))
    answers(n)[0]["source"] = "%%time\n" + text_of(answers(n)[0])
    return n


@mangling
def question_marks(n):
    n["cells"].insert(2, code("torch.softmax?\ntorch.matmul??"))
    return n


@mangling
def drive_mounted(n):
    n["cells"].insert(0, code("from google.colab import drive\ndrive.mount('/content/drive')"))
    return n


@mangling
def unknown_packages_imported(n):
    n["cells"].insert(0, code("import seaborn as sns, wandb\nimport torch.nn as nn\nsns.set_theme()"))
    return n


@mangling
def exit_at_the_end(n):
    n["cells"].append(code("import os\nos._exit(0)\nexit()"))
    return n


@mangling
def plots_and_outputs(n):
    for cell in answers(n):
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 10000]}]
        cell["execution_count"] = 99
    return n


@mangling
def sources_as_lists(n):
    for cell in n["cells"]:
        cell["source"] = text_of(cell).splitlines(keepends=True)
    return n


@mangling
def sources_as_texts(n):
    for cell in n["cells"]:
        cell["source"] = text_of(cell)
    return n


@mangling
def windows_line_ends(n):
    for cell in n["cells"]:
        cell["source"] = text_of(cell).replace("\n", "\r\n")
    return n


@mangling
def byte_order_mark(n):
    return b"\xef\xbb\xbf" + json.dumps(n).encode()


@mangling
def other_indent_and_order(n):
    return json.dumps(n, indent=7, sort_keys=True, ensure_ascii=True)


@mangling
def notebook_format_3(n):
    cells = [
        {"cell_type": "code", "input": text_of(cell), "language": "python", "outputs": []}
        if cell["cell_type"] == "code"
        else cell
        for cell in n["cells"]
    ]
    return {"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]}


@mangling
def notebook_format_40(n):
    n["nbformat_minor"] = 0
    for cell in n["cells"]:
        cell.pop("id", None)
    return n


@mangling
def as_a_python_file(n):
    return "\n\n".join(
        text_of(cell) for cell in n["cells"] if cell["cell_type"] == "code" and "%pip" not in text_of(cell)
    )


@mangling
def as_a_percent_file(n):
    return "\n\n# %%\n".join(["import torch", *(text_of(cell) for cell in answers(n))])


@mangling
def aliases(n):
    """The functions carry other names, and the wanted names are assigned."""
    for cell in answers(n):
        cell["source"] = (
            text_of(cell)
            .replace("def attention(", "def my_attention(")
            .replace("def attention_backward(", "def my_backward(")
        )
    n["cells"].append(code("attention, attention_backward = my_attention, my_backward"))
    return n


@mangling
def inside_a_class(n):
    n["cells"].append(
        code(
            "class Mine:\n    def __init__(self, f):\n        self.f = f\n"
            "    def __call__(self, *a, **k):\n        return self.f(*a, **k)\n"
            "_plain = attention\nattention = Mine(_plain)"
        )
    )
    return n


@mangling
def decorated(n):
    n["cells"].append(
        code(
            "import functools\n_first = attention\n@functools.wraps(_first)\n"
            "def attention(*a, **k):\n    return _first(*a, **k)"
        )
    )
    return n


@mangling
def annotated_with_names_that_are_missing(n):
    for cell in answers(n):
        cell["source"] = "from __future__ import annotations\n" + text_of(cell).replace(
            "query, key, value", "query: Tensor, key: Tensor, value: Tensor", 1
        )
    return n


@mangling
def chinese_comments_and_names(n):
    for cell in answers(n):
        cell["source"] = "# 我的答案\n" + text_of(cell) + "\n变量 = 1\n"
    return n


@mangling
def tabs_and_trailing_spaces(n):
    for cell in answers(n):
        cell["source"] = "\n".join(line + "   " for line in text_of(cell).split("\n")).replace("    ", "\t")
    return n
