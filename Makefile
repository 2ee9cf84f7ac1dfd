# Everything a developer does, by name. `make help` lists it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
RUST := $(shell find rust/src rust/Cargo.toml Cargo.toml -type f 2>/dev/null) Cargo.lock

.DEFAULT_GOAL := help
.PHONY: help demo build test lint fmt exact bench bench-wordpiece bench-instructions asan ci clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' Makefile

demo: build ## train on this machine's own text, and use it (TEXT=path: yours)
	@$(BIN)/python tools/demo.py

build: $(VENV)/built ## the engine, built and installed into .venv

test: $(VENV)/dev build ## every test
	cargo test --quiet --manifest-path rust/Cargo.toml
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/dev build ## formatting, lints and types
	cargo fmt --manifest-path rust/Cargo.toml --check
	PYO3_PYTHON="$$PWD/$(BIN)/python" cargo clippy --quiet --manifest-path rust/Cargo.toml --all-targets --features python -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

fmt: $(VENV)/dev ## rewrite the code in its standard form
	cargo fmt --manifest-path rust/Cargo.toml
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

exact: $(VENV)/dev build ## every id against tiktoken's, every piece against Oniguruma's (CORPUS=path: more text)
	$(BIN)/python benches/exact.py $(CORPUS)
	$(BIN)/python benches/oniguruma.py $(CORPUS)

bench: $(VENV)/dev build ## speed beside its peers (CORPUS=path, FLAGS=--quick)
	$(BIN)/python benches/bench.py $(FLAGS) $(CORPUS)

bench-wordpiece: $(VENV)/dev build ## WordPiece beside its peers (BERT=tokenizer.json CORPUS=path)
	$(BIN)/python benches/wordpiece.py $(BERT) $(CORPUS)

bench-instructions: ## instruction counts, by valgrind
	$(PYTHON) benches/instructions.py $(FLAGS)

asan: ## the tests of what uses memory.rs, under AddressSanitizer
	RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address CARGO_TARGET_DIR=target/asan cargo test --quiet --lib \
		--manifest-path rust/Cargo.toml --target $(HOST) -- bpe:: memory:: packed:: utf8:: vocabulary::

ci: lint test asan ## what a change must pass

clean: ## remove what was built
	rm -rf $(VENV) target demo

$(VENV)/bin/python:
	@PYTHON=$(PYTHON) sh tools/check_toolchain.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/built: $(RUST) pyproject.toml | $(VENV)/bin/python
	@PYTHON=$(PYTHON) sh tools/check_toolchain.sh
	$(BIN)/python -m pip install --quiet 'maturin>=1.8,<2'
	@echo "compiling the engine: a few minutes the first time"
	VIRTUAL_ENV="$$PWD/$(VENV)" $(BIN)/maturin develop --release --quiet
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --group check
	@touch $@
