"""Workflows, issue forms, dev container and Binder: well formed, pinned, and naming only what exists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
CONTAINER = ROOT / ".devcontainer"
BINDER = ROOT / ".binder"
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def load(path: Path) -> dict[Any, Any]:
    """A YAML file. YAML 1.1 reads the key `on` as True; it comes back under its own name."""
    data = yaml.safe_load(path.read_text("utf-8"))
    return {"on" if key is True else key: value for key, value in data.items()}


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in load(workflow)["jobs"].values() for step in job["steps"]]


def commands(workflow: Path) -> list[str]:
    return [step["run"] for step in steps(workflow) if "run" in step]


def test_the_two_workflows_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["publish", "test"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_well_formed(workflow: Path) -> None:
    data = load(workflow)
    assert set(data) == {"name", "on", "permissions", "concurrency", "env", "jobs"}
    for name, job in data["jobs"].items():
        assert job["timeout-minutes"] <= 60, name
        assert all(("uses" in step) != ("run" in step) for step in job["steps"]), name
        assert job["steps"][0]["uses"].startswith("actions/checkout@"), name


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_official_and_pinned_to_a_major_version(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_make_targets_and_paths_in_commands_exist(workflow: Path) -> None:
    text = "\n".join(commands(workflow))
    targets = set(re.findall(r"^make ([a-z-]+)", text, re.M))
    assert targets
    assert targets <= set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.M))
    named = re.findall(r"(?<=-c )\S+\.txt", text) + [
        step["with"]["cache-dependency-path"] for step in steps(workflow) if "cache" in step.get("with", {})
    ]
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_the_test_workflow_runs_the_two_commands_of_ci_on_the_pinned_python() -> None:
    job = load(GITHUB / "workflows" / "test.yml")["jobs"]["book"]
    typed = [step["run"] for step in job["steps"] if step.get("run", "").startswith("make ")]
    in_ci = re.findall(r"^make [a-z-]+", (ROOT / ".ci" / "run").read_text("utf-8"), re.M)
    assert {"make test", "make book"} <= set(in_ci)
    assert [command for command in in_ci if command != "make clean"] == [c for c in typed if c != "make clean"]
    assert job["steps"][1]["with"]["python-version"] == "3.11"


def test_the_matrix_covers_each_claimed_python_and_each_system() -> None:
    jobs = load(GITHUB / "workflows" / "test.yml")["jobs"]
    matrix = jobs["library"]["strategy"]["matrix"]["include"]
    pythons = {entry["python"] for entry in matrix} | {"3.11"}
    claimed = [line.rpartition(" ")[2] for line in PYPROJECT["project"]["classifiers"] if ":: Python :: 3." in line]
    assert sorted(pythons) == sorted(claimed)
    assert {entry["os"].split("-")[0] for entry in matrix} == {"ubuntu", "macos", "windows"}


def test_the_oldest_torch_that_is_claimed_is_the_one_that_is_tested() -> None:
    oldest = Requirement(
        load(GITHUB / "workflows" / "test.yml")["jobs"]["torch-range"]["strategy"]["matrix"]["torch"][0]
    )
    [claim] = [Requirement(line) for line in PYPROJECT["project"]["dependencies"] if line.startswith("torch")]
    [lowest], [tested] = list(claim.specifier), list(oldest.specifier)
    assert (lowest.operator, tested.operator) == (">=", "==")
    assert tested.version.split(".")[:2] == lowest.version.split(".")[:2]


def test_the_folders_that_the_library_jobs_leave_out_exist() -> None:
    left_out = load(GITHUB / "workflows" / "test.yml")["env"]["NOT_LIBRARY"].split()
    assert left_out
    assert [option for option in left_out if not (ROOT / option.removeprefix("--ignore=")).is_dir()] == []


def test_publishing_names_no_repository() -> None:
    text = (GITHUB / "workflows" / "publish.yml").read_text("utf-8")
    url = load(GITHUB / "workflows" / "publish.yml")["env"]["ATTENTION_REPOSITORY_URL"]
    assert url == "${{ github.server_url }}/${{ github.repository }}"
    assert "attention-step-by-step" not in text
    branch = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["sphinx"]["config"]["notebook_branch"]
    assert f'git push --force "$REMOTE" {branch}' in text


@pytest.mark.skipif(
    os.name == "nt" or not shutil.which("git"), reason="the publishing steps are for bash and git on Linux"
)
def test_publishing_pushes_site_and_notebooks_as_one_commit(tmp_path: Path) -> None:
    checkout, remote = tmp_path / "checkout", tmp_path / "remote.git"
    notebooks = ("chapters/notebooks/01_a.ipynb", "chapters/coursework/b.ipynb")
    for file in ("_build/html/index.html", "_build/html/_static/book.css", *notebooks):
        (checkout / file).parent.mkdir(parents=True, exist_ok=True)
        (checkout / file).write_text(file, "utf-8")
    subprocess.run(["git", "init", "--quiet", "--bare", remote], check=True)
    given = os.environ | {"REMOTE": str(remote), "GITHUB_SHA": "0123abc"}
    for _ in range(2):  # the second time replaces the first
        shutil.rmtree(checkout / "_build" / "publish", ignore_errors=True)
        for script in commands(GITHUB / "workflows" / "publish.yml"):
            if not script.startswith("make "):
                subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=checkout, env=given, check=True)

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", "--git-dir", remote, *words], check=True, capture_output=True, text=True)
        return done.stdout.split("\n")[:-1]

    assert git("branch", "--format=%(refname:short)") == ["gh-pages"]
    assert git("log", "--format=%s", "gh-pages") == ["Publish 0123abc"]
    assert git("ls-tree", "-r", "--name-only", "gh-pages") == [
        ".nojekyll",
        "_static/book.css",
        "chapters/coursework/b.ipynb",
        "chapters/notebooks/01_a.ipynb",
        "index.html",
    ]


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_what_github_asks_for(form: Path) -> None:
    data = load(form)
    assert set(data) == {"name", "description", "title", "labels", "body"}
    fields = [element for element in data["body"] if element["type"] != "markdown"]
    identifiers = [element["id"] for element in fields]
    assert len(identifiers) == len(set(identifiers)) >= 1
    for element in data["body"]:
        assert element["type"] in {"markdown", "input", "textarea", "dropdown", "checkboxes"}
        needed = {"markdown": "value", "dropdown": "options"}.get(element["type"], "label")
        assert element["attributes"][needed]
    assert any(element["validations"]["required"] for element in fields)


def test_there_is_a_form_for_text_library_and_question() -> None:
    assert {path.stem for path in FORMS} == {"text", "library", "question"}
    assert load(GITHUB / "ISSUE_TEMPLATE" / "config.yml")["blank_issues_enabled"] is True


def test_the_library_form_asks_for_versions_with_a_command_that_works() -> None:
    [field] = [e for e in load(GITHUB / "ISSUE_TEMPLATE" / "library.yml")["body"] if e.get("id") == "versions"]
    [code] = re.findall(r'python -c "(.*)"', field["attributes"]["description"])
    exec(code, {})


def test_the_dev_container_uses_the_pinned_python_and_the_cpu_wheels() -> None:
    container = json.loads((CONTAINER / "devcontainer.json").read_text("utf-8"))
    assert ":3.11" in container["image"]
    assert container["containerEnv"]["PIP_EXTRA_INDEX_URL"] == CPU_WHEELS
    script = CONTAINER / container["postCreateCommand"].removeprefix("bash .devcontainer/")
    text = script.read_text("utf-8")
    assert "make env" in text  # which installs what constraints.txt pins
    assert "pip install" not in text
    subprocess.run(["bash", "-n", str(script)], check=True)


def test_binder_reads_the_same_constraints() -> None:
    lines = (BINDER / "requirements.txt").read_text("utf-8").splitlines()
    [constraints] = [line.removeprefix("-c ") for line in lines if line.startswith("-c ")]
    assert (BINDER / constraints).resolve() == ROOT / "constraints.txt"
    assert f"--extra-index-url {CPU_WHEELS}" in lines
    assert "-e ." in lines
    assert (BINDER / "runtime.txt").read_text("utf-8").strip() == "python-3.11"


def test_every_setting_that_fetches_torch_takes_the_cpu_wheels_from_pytorch_itself() -> None:
    for workflow in WORKFLOWS:
        assert load(workflow)["env"]["PIP_EXTRA_INDEX_URL"] == CPU_WHEELS
