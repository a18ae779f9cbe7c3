"""A chapter's figures in a real JupyterLab: run a cell, and the figure comes alive beneath it."""

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

CELLS = [
    "import torch\nfrom attention_lib import viz",
    "viz.explore(['the', 'animal', 'it'], query=torch.eye(3), key=torch.eye(3), value=torch.eye(3), row=2)",
    "viz.paint_masks(6, causal=True)",
    "viz.paint_masks(5)",
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a JupyterLab of this test's own, with one notebook in it."""
    folder = tmp_path_factory.mktemp("lab")
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(
        v4.new_notebook(cells=[v4.new_code_cell(c) for c in CELLS], metadata=kernel), folder / "figures.ipynb"
    )
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    own = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    log = (folder / "log").open("w")
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyter",
            "lab",
            "--no-browser",
            "--allow-root",
            "--ServerApp.ip=127.0.0.1",
            "--ServerApp.port=0",
            "--IdentityProvider.token=",
            "--ServerApp.disable_check_xsrf=True",
            f"--ServerApp.root_dir={folder}",
            "--LabApp.news_url=",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        env=os.environ | own | {"PYTHONPATH": paths},
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        yield _address(folder / "log", server)
    finally:
        server.terminate()
        server.wait(20)


def _address(log: Path, server: subprocess.Popen) -> str:
    """Wait until the server answers at the address that it wrote down."""
    for _ in range(120):
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text("utf-8"))
        if found:
            try:
                urllib.request.urlopen(f"{found[0]}/api", timeout=2)
                return found[0]
            except OSError:
                pass
        assert server.poll() is None, log.read_text("utf-8")[-3000:]
        time.sleep(0.5)
    raise AssertionError(f"JupyterLab did not start: {log.read_text('utf-8')[-3000:]}")


def test_figures_come_alive(browser, lab: str):
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    uncaught = []
    page.on("pageerror", lambda error: uncaught.append(str(error)))
    page.goto(f"{lab}/lab/tree/figures.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=60_000)  # before that, a run is lost
    page.locator(".jp-Notebook .jp-CodeCell").first.click()
    for _ in CELLS:
        page.keyboard.press("Shift+Enter")
    page.wait_for_selector("attn-mask >> nth=1", state="attached", timeout=90_000)
    for selector, count in (("attn-explorer", 1), ("attn-mask", 2)):
        assert page.locator(selector).count() == count
        for i in range(count):
            assert page.locator(selector).nth(i).evaluate("e => !!e.shadowRoot && !e.shadowRoot.querySelector('slot')")
    explorer = page.locator("attn-explorer")
    said = explorer.locator("[role=status]")
    assert said.text_content().startswith("it → it: exp(0.577)")
    explorer.get_by_role("button", name="the", exact=False).first.click()
    assert said.text_content().startswith("the → the")
    page.locator("attn-mask").nth(1).get_by_label("causal").check()
    assert "Allowed pairs: 15" in page.locator("attn-mask").nth(1).evaluate("e => e.facts.textContent")
    assert "Allowed pairs: 21" in page.locator("attn-mask").nth(0).evaluate("e => e.facts.textContent")
    assert [error for error in uncaught if "attn" in error or "Figure" in error] == []
    page.close()
