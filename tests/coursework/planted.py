"""Thirty ways in which a solution gets out: each plants one in a released notebook, page or archive."""

import base64
import io
import json
import re
import textwrap
import zipfile
import zlib

from attention_lib.coursework.release import BEGIN, END

PLANTED = {}
SOLUTION = """    weights = weights_of(query, key, mask)
    arriving = heads_second(grad_output)
    grad_weights = arriving @ heads_second(value).transpose(-2, -1)
    average = (weights * grad_weights).sum(dim=-1, keepdim=True)
    grad_scores = weights * (grad_weights - average) / (query.shape[-1] ** 0.5 * VARIANT["temperature"])
    grad_query = grad_scores @ heads_second(key)
"""
LINE = SOLUTION.split("\n")[3].strip()
RENAMED = re.sub(
    r"\b(weights_of|weights|arriving|grad_weights|average|grad_scores|grad_query|heads_second|grad_output)\b",
    lambda m: {
        "weights_of": "fa",
        "weights": "w",
        "arriving": "g",
        "grad_weights": "dw",
        "average": "m",
        "grad_scores": "ds",
        "grad_query": "dq",
        "heads_second": "sw",
        "grad_output": "go",
    }[m[0]],
    SOLUTION,
)


def planted(plant):
    PLANTED[plant.__name__] = plant
    return plant


def cell(source, kind="code", **more):
    made = {"cell_type": kind, "id": "planted", "metadata": {}, "source": source}
    return made | ({"outputs": [], "execution_count": None} if kind == "code" else {}) | more


def with_cell(n, *arguments, **more):
    n["cells"].append(cell(*arguments, **more))
    return n


def packed(data):
    return base64.b64encode(data.encode()).decode()


PLANTED.update(
    {
        "code": lambda n: with_cell(n, SOLUTION),
        "one_line": lambda n: with_cell(n, LINE),
        "in_the_answer_cell": lambda n: _into_answer(n, SOLUTION),
        "renamed": lambda n: with_cell(n, textwrap.dedent(RENAMED)),
        "renamed_in_a_function": lambda n: with_cell(n, "def f(query, key, value):\n" + RENAMED),
        "other_spaces": lambda n: with_cell(n, LINE.replace(" ", "   ")),
        "no_spaces": lambda n: with_cell(n, LINE.replace(" ", "")),
        "comment": lambda n: with_cell(n, f"# {LINE}"),
        "double_comment": lambda n: with_cell(n, f"## # {LINE}"),
        "docstring": lambda n: with_cell(n, f'"""\n{SOLUTION}"""'),
        "text_in_a_string": lambda n: with_cell(n, f"hint = {LINE!r}"),
        "markdown": lambda n: with_cell(n, f"Remember:\n\n{LINE}", "markdown"),
        "markdown_code": lambda n: with_cell(n, f"```python\n{SOLUTION}```", "markdown"),
        "markdown_quote": lambda n: with_cell(n, f"> `{LINE}`", "markdown"),
        "markdown_comment": lambda n: with_cell(n, f"<!--\n{LINE}\n-->", "markdown"),
        "raw_cell": lambda n: with_cell(n, SOLUTION, "raw"),
        "output_stream": lambda n: with_cell(
            n, "1", outputs=[{"output_type": "stream", "name": "stdout", "text": SOLUTION.splitlines(True)}]
        ),
        "output_html": lambda n: with_cell(
            n,
            "1",
            outputs=[
                {"output_type": "display_data", "metadata": {}, "data": {"text/html": [f"<pre>\n{LINE}\n</pre>"]}}
            ],
        ),
        "output_error": lambda n: with_cell(
            n,
            "1",
            outputs=[{"output_type": "error", "ename": "E", "evalue": "", "traceback": [f"----> 4 {LINE}", "x"]}],
        ),
        "cell_metadata": lambda n: with_cell(n, "1", metadata={"solution": SOLUTION}),
        "notebook_metadata": lambda n: n | {"metadata": n["metadata"] | {"history": [{"old": LINE}]}},
        "metadata_key": lambda n: n | {"metadata": n["metadata"] | {LINE: 1}},
        "attachment": lambda n: with_cell(
            n, "see", "markdown", attachments={"notes.txt": {"text/plain": packed(SOLUTION)}}
        ),
        "base64": lambda n: with_cell(n, f"data = {packed(SOLUTION)!r}"),
        "base64_in_lines": lambda n: with_cell(n, "\n".join(textwrap.wrap(packed(SOLUTION), 76)), "markdown"),
        "hex": lambda n: with_cell(n, f"data = {SOLUTION.encode().hex()!r}"),
        "zlib": lambda n: with_cell(n, f"data = {base64.b64encode(zlib.compress(SOLUTION.encode())).decode()!r}"),
        "zip": lambda n: with_cell(n, f"data = {base64.b64encode(_zip(SOLUTION)).decode()!r}"),
        "notebook_in_a_string": lambda n: with_cell(n, f"old = {json.dumps({'cells': [cell(SOLUTION)]})!r}"),
        "markers": lambda n: with_cell(n, f"{BEGIN}\n{END}"),
        "mark_of_a_secret_file": lambda n: with_cell(n, "# attention-51be08"),
        "hidden_check": lambda n: with_cell(
            n,
            "grads = attention_backward(ones, ones, ones, None, ones)\n"
            "assert len(grads) == 3 and grads[0].abs().max() < 1e-6",
        ),
        "the_reference_of_the_checks": lambda n: with_cell(
            n,
            'heights = torch.einsum("bhld,bhsd->bhls", query, key) / (query.shape[-1] ** 0.5 * variant["temperature"])',
        ),
    }
)


def _into_answer(n, text):
    for one in n["cells"]:
        if "answer" in one["metadata"].get("tags", []):
            one["source"] = "".join(one["source"]) + "\n" + text
    return n


def _zip(text):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("solution.py", text)
    return out.getvalue()
