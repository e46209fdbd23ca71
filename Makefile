# Rondo: `make` or `make help` lists what there is to do.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SCHEDULES ?= 200000
FUZZTIME ?= 10s

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/rondo, one static binary
	CGO_ENABLED=0 go build -trimpath -o bin/rondo ./cmd/rondo

.PHONY: test
test: ## Check and test everything on private servers; installs what is missing
	@scripts/test

.PHONY: test-quick
test-quick: ## Run the tests that need nothing but Go
	go test ./...

.PHONY: lint
lint: ## Run golangci-lint (builds it the first time: some minutes)
	@scripts/golangci-lint run

.PHONY: fmt
fmt: ## Format the code as lint wants it
	@scripts/golangci-lint fmt

.PHONY: sim
sim: ## Simulate SCHEDULES seeded schedules with faults and check the invariants
	go run ./cmd/rondo sim --schedules $(SCHEDULES)

.PHONY: bench
bench: ## Measure Rondo on each store and print the comparison tables
	@scripts/bench

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

.PHONY: servers
servers: ## Start private PostgreSQL, MariaDB and Redis that stay up for your own test runs
	@scripts/testservers start

.PHONY: servers-stop
servers-stop: ## Stop them and remove their data
	@scripts/testservers stop

.PHONY: clean
clean: ## Remove what the build and the tests left in the tree
	rm -rf bin .cache
