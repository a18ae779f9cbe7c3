"""constraints.txt names everything the tests need, agrees with pyproject.toml, and describes what really runs here."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from check_constraints import CONSTRAINTS, ROOT, TORCH_PINS_ITSELF, read_pins, unpinned
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def declared(extra: str | None = None) -> list[Requirement]:
    """The requirements that pyproject.toml declares for the package itself, or for one of its extras."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return [Requirement(line) for line in lines]


def needed(requirements: list[Requirement]) -> dict[str, str]:
    """Every distribution these requirements bring into the running environment: version by canonical name."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        for wanted in ("", *requirement.extras):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            if name == "attention-lib":
                waiting += [(r, "") for r in (declared(wanted) if wanted else declared())]
                continue
            found[name] = metadata.version(name)
            waiting += [(Requirement(line), wanted) for line in metadata.requires(name) or []]
    return found


@pytest.fixture(scope="module")
def for_tests() -> dict[str, str]:
    return needed([Requirement("attention-lib[test]")])


def test_the_walk_reaches_direct_indirect_and_library_dependencies(for_tests: dict[str, str]) -> None:
    assert {"pytest", "sphinx", "pluggy", "torch", "numpy", "sympy"} <= set(for_tests)
    assert "attention-lib" not in for_tests


def test_every_distribution_that_the_tests_need_is_pinned(for_tests: dict[str, str]) -> None:
    assert unpinned(for_tests) == [], "add these to constraints.txt (CONTRIBUTING.md: change a constraint)"


def test_this_environment_runs_what_is_pinned(for_tests: dict[str, str]) -> None:
    pins = {pin.name: pin.version for pin in read_pins()}
    wrong = [
        f"{name}: constraints.txt says {pins[name]}, installed is {version}; run `make env` again"
        for name, version in for_tests.items()
        if name in pins and Version(pins[name]).public != Version(version).public
    ]
    assert wrong == []


@pytest.mark.parametrize("extra", [None, *PROJECT["optional-dependencies"]])
def test_pyproject_allows_what_constraints_pin(extra: str | None) -> None:
    pins = {pin.name: pin.version for pin in read_pins()}
    for requirement in declared(extra):
        name = canonicalize_name(requirement.name)
        if name != "attention-lib":
            assert name in pins, f"{name} is in pyproject.toml but not in constraints.txt"
            assert requirement.specifier.contains(pins[name], prereleases=True), (
                f"pyproject.toml asks for {requirement}, constraints.txt pins {pins[name]}"
            )


def test_pins_are_sorted_and_unique() -> None:
    names = [pin.name for pin in read_pins()]
    assert names == sorted(set(names))


def test_no_pin_has_a_local_version_or_belongs_to_a_cuda_build() -> None:
    assert [pin for pin in read_pins() if "+" in pin.version or pin.name.startswith(TORCH_PINS_ITSELF)] == []


def test_constraints_name_no_index_and_no_path() -> None:
    lines = [line for line in CONSTRAINTS.read_text("utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if re.search(r"https?:|file:|^-|@|/", line)] == []


def test_a_line_without_a_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "constraints.txt"
    file.write_text("numpy==2.4.6\n# a comment\n\nmatplotlib>=3\n", "utf-8")
    with pytest.raises(ValueError, match=r"txt:4: 'matplotlib>=3' pins no version; write matplotlib==X\.Y"):
        read_pins(file)
