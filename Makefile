# Thin on purpose: each target calls one Python tool, so whoever has no make calls the tool itself
# (README lists the same commands for Windows).

VENV   ?= .venv
PYTHON ?= python3
PORT   ?= 8000
PY      = $(VENV)/bin/python
STAMP   = $(VENV)/.attention-stamp

.DEFAULT_GOAL := help
.PHONY: help env book pdf notebooks test bench coursework-audit lint serve new-chapter clean

help:  ## show these lines
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /|/' | awk -F'|' '{ printf "  make %-16s %s\n", $$1, $$2 }'

env: $(STAMP)  ## create or update the Python environment in .venv

$(STAMP): pyproject.toml $(wildcard constraints.txt) book/tools/make_env.py
	$(PYTHON) book/tools/make_env.py --venv $(VENV)

book: $(STAMP)  ## run all chapters and build the website in _build/html
	$(PY) book/tools/build_site.py

pdf: $(STAMP)  ## the book as one PDF in _build/pdf; needs TeX and names the packages
	$(PY) book/tools/build_pdf.py

notebooks: $(STAMP)  ## write chapters/notebooks/*.ipynb from the chapters
	$(PY) book/tools/execute.py
	$(PY) book/tools/notebooks.py
	$(PY) book/tools/coursework.py

test: $(STAMP)  ## lint, unit tests, notebooks' values, the site in a browser
	$(PY) book/tools/run_tests.py

bench: $(STAMP)  ## speed beside torch and others: make bench ARGS=--quick (about a minute)
	$(PY) -m attention_lib.bench $(ARGS)

coursework-audit: $(STAMP)  ## the coursework's long run: all corpora, as root and as a user
	$(PY) book/tools/coursework_audit.py

lint: $(STAMP)  ## style, format and types only
	$(PY) book/tools/run_tests.py --only lint --only format --only types

serve: book  ## build the website and show it on http://127.0.0.1:8000
	$(PY) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

new-chapter: $(STAMP)  ## start a chapter: make new-chapter NAME=05_softmax
	$(PY) book/tools/new_chapter.py "$(NAME)"

clean:  ## remove everything that was built, but not the environment
	rm -rf _build build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
