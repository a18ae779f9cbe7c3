"""The scripts: joined in the right order, nothing lost but comments, small, nothing to fetch."""

import gzip
import json
import re
from pathlib import Path

import pytest

from attention_lib.errors import OptionError
from attention_lib.viz import bundle

FOLDER = Path(bundle.__file__).with_name("elements")
NAMES = sorted(path.stem for path in FOLDER.glob("*.js"))
SCRIPTS = {"frame": bundle.frame} | {tag: (lambda tag=tag: bundle.script(tag)) for tag in bundle.ELEMENTS}


def test_every_module_is_used():
    used = {name for tag in bundle.ELEMENTS for name in bundle.modules(tag)}
    assert used == set(NAMES)


@pytest.mark.parametrize("tag", bundle.ELEMENTS)
def test_a_module_comes_after_what_it_needs(tag):
    order = bundle.modules(tag)
    assert order[-1] == tag
    for place, name in enumerate(order):
        assert set(bundle.modules(name)) <= set(order[: place + 1])


@pytest.mark.parametrize("name", NAMES)
def test_every_import_is_exported_there(name):
    for names, module in bundle._IMPORT.findall(bundle.source(name)):
        assert set(names.split(", ")) <= set(bundle._EXPORT.findall(bundle.source(module))), (name, module)
    assert bundle.source(name).count("import ") == len(bundle._IMPORT.findall(bundle.source(name)))


@pytest.mark.parametrize("name", NAMES)
def test_no_name_is_exported_twice(name):
    everywhere = [export for other in NAMES for export in bundle._EXPORT.findall(bundle.source(other))]
    assert all(everywhere.count(export) == 1 for export in bundle._EXPORT.findall(bundle.source(name)))


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_at_most_five_kilobytes(name):
    assert len(gzip.compress(SCRIPTS[name]().encode(), 9)) <= 5000


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_anywhere(name):
    text = SCRIPTS[name]()
    assert not re.search(r"^\s*(import|export)\b", text, flags=re.M)
    assert "</" not in text  # it could end the <script> around it
    assert "://" not in text  # nothing to fetch
    assert not re.search(r"\b(eval|fetch|XMLHttpRequest|localStorage)\b", text)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_parses(name):
    quickjs = pytest.importorskip("quickjs")
    check = quickjs.Context().eval("(text) => { new Function(text); return true; }")
    assert check(SCRIPTS[name]())
    with pytest.raises(quickjs.JSException):
        check(SCRIPTS[name]() + "}")


@pytest.mark.parametrize(
    ("text", "stripped"),
    [
        ("// a\nconst b = 1;\n", "const b = 1;"),
        ("  /** a\n   * b */\n  const c = 1;\n", "const c = 1;"),
        ("const d = 1; // why\nconst e = 2;", "const d = 1;\nconst e = 2;"),
        ('const f = "a // b";\n', 'const f = "a // b";'),
        ("export class G {\n  h() {}\n}\n", "class G {\nh() {}\n}"),
        ('import { a, b } from "./base.js";\nexport const c = a;\n', "const c = a;"),
    ],
)
def test_strip(text, stripped):
    assert bundle.strip(text) == stripped


@pytest.mark.parametrize("name", NAMES)
def test_stripping_keeps_every_text(name):
    literals = re.compile(r'"(?:[^"\\\n]|\\.)*"')
    code = bundle._COMMENT.sub("", bundle._IMPORT.sub("", bundle.source(name)))
    kept = json.dumps(bundle.strip(bundle.source(name)))
    assert all(json.dumps(text)[1:-1] in kept for text in literals.findall(code))


def test_the_frames_name_changes_with_its_text(monkeypatch):
    before = bundle._home()
    monkeypatch.setattr(bundle, "source", lambda name: "export const a = 1;\n")
    assert bundle._home() != before


@pytest.mark.bad_input
def test_an_unknown_element_names_the_known_ones():
    with pytest.raises(OptionError, match="tag='attn-map' is no figure; choose one of attn-explorer, attn-vectors"):
        bundle.script("attn-map")
