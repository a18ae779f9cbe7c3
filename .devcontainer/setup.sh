#!/usr/bin/env bash
# What the container lacks: a browser for the site's tests, the pinned environment, and JupyterLab for the notebooks.
set -euo pipefail
cd "$(dirname "$0")/.."
sudo apt-get update
sudo apt-get install -y --no-install-recommends make chromium bubblewrap
make env
.venv/bin/python -m pip install -c constraints.txt jupyterlab
