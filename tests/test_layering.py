"""The floors of the library: who may import whom. Read from the source, so that lazy imports count too."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "attention_lib"
FLOORS = [
    ["errors"], ["shapes"], ["axes"], ["arguments"], ["memory"], ["runtime"], ["reference"], ["version"],
    ["steps"], ["paths"], ["attention"], ["averaged", "ragged"], ["masks"], ["layers"],
    ["models", "tasks", "training"], ["experiments"],
    ["plot"], ["viz"], ["bench"], ["doctor"], ["exercises", "coursework"],
]  # fmt: skip
HEIGHT = {room: height for height, floor in enumerate(FLOORS) for room in floor}
OUTSIDE = {"torch", "numpy", "tqdm"}
PICTURES_TAKE_PLAIN_NUMBERS = {"layers", "models", "tasks", "training", "experiments"}


def read_package():
    """Dotted module name -> source."""
    sources = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ["attention_lib", *path.relative_to(PACKAGE).with_suffix("").parts]
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


def imports_of(module, sources):
    """Dotted names a module imports, with ``from package import module`` resolved to the module."""
    for node in ast.walk(ast.parse(sources[module])):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import; write the full name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in sources else node.module


def room_of(module):
    return module.split(".")[1] if "." in module else ""


def complaints(sources):
    """One sentence for each import that breaks a rule."""
    for module in sources:
        room = room_of(module)
        if room and room not in HEIGHT:
            yield f"{module}: room {room!r} has no floor yet; give it one in FLOORS"
            continue
        for imported in set(imports_of(module, sources)):
            if imported.split(".")[0] == "attention_lib":
                yield from _inside(module, room, imported)
            else:
                yield from _outside(module, room, imported.split(".")[0])


def _inside(module, room, imported):
    if not room:
        return
    below = room_of(imported)
    if not below:
        yield f"{module} imports the package root; name the module: attention_lib.steps.masks, say"
    elif below != room and HEIGHT.get(below, 99) >= HEIGHT[room]:
        yield f"{module} imports {imported}, which is not on a floor below"
    elif room in ("plot", "viz") and below in PICTURES_TAKE_PLAIN_NUMBERS:
        yield f"{module} imports {imported}; pictures take plain numbers, never models"


def _outside(module, room, imported):
    if room == "reference":
        if imported != "math":
            yield f"{module} imports {imported}; the oracle imports only math"
    elif imported == "matplotlib":
        if room not in ("plot", "viz"):
            yield f"{module} imports matplotlib; only plot and viz draw"
    elif imported == "jaxtyping":
        if room != "shapes":
            yield f"{module} imports jaxtyping; take the annotations from attention_lib.shapes"
    elif imported not in OUTSIDE | sys.stdlib_module_names:
        yield f"{module} imports {imported}; allowed are {sorted(OUTSIDE)} and the standard library"


def check_no_cycles(sources):
    edges = {module: {name for name in imports_of(module, sources) if name in sources} for module in sources}
    edges.pop("attention_lib", None)
    graphlib.TopologicalSorter(edges).prepare()


def test_every_import_goes_down():
    sources = read_package()
    assert {"attention_lib.attention", "attention_lib.steps.softmax", "attention_lib.layers"} <= set(sources)
    assert list(complaints(sources)) == []


def test_no_import_cycles():
    check_no_cycles(read_package())


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("attention_lib.steps.new", "from attention_lib.paths.fused import f", "not on a floor below"),
        ("attention_lib.tasks.new", "import attention_lib.models", "not on a floor below"),
        ("attention_lib.steps.new", "def f():\n    from attention_lib.layers import cache", "not on a floor below"),
        ("attention_lib.layers.new", "from attention_lib import causal_mask", "package root"),
        ("attention_lib.layers.new", "import attention_lib", "package root"),
        ("attention_lib.steps.new", "import matplotlib.pyplot as plt", "only plot and viz"),
        ("attention_lib.plot.new", "from attention_lib.layers import cache", "never models"),
        ("attention_lib.reference", "import torch", "only math"),
        ("attention_lib.axes", "import jaxtyping", "attention_lib.shapes"),
        ("attention_lib.steps.new", "import scipy.special", "standard library"),
        ("attention_lib.newroom.new", "", "give it one in FLOORS"),
    ],
)
def test_each_rule_can_fail(module, source, complaint):
    sources = {"attention_lib.layers.cache": "", "attention_lib.models": "", module: source}
    found = list(complaints(sources))
    assert len(found) == 1
    assert complaint in found[0]


def test_a_cycle_is_found():
    sources = {
        "attention_lib.steps.one": "from attention_lib.steps import two",
        "attention_lib.steps.two": "def f():\n    import attention_lib.steps.one",
    }
    with pytest.raises(graphlib.CycleError):
        check_no_cycles(sources)


def test_importing_the_library_is_quick_and_draws_nothing():
    program = (
        "import sys, time, torch; start = time.process_time(); import attention_lib; "
        "print(time.process_time() - start); assert 'matplotlib' not in sys.modules"
    )
    seconds = []
    for _ in range(3):  # CPU seconds, the best of three: a busy machine may spoil one
        run = subprocess.run([sys.executable, "-c", program], cwd=PACKAGE.parent, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        seconds.append(float(run.stdout))
        if seconds[-1] <= 0.15:
            return
    raise AssertionError(f"import attention_lib takes {min(seconds):.3f} s over import torch; the limit is 0.15 s")
