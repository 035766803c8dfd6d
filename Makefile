GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)

.PHONY: help build demo test unit integration race lint fuzz bench golden docs clean

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the programs into bin/
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

demo: build ## replay a recorded MySQL binlog into a local Paimon table and look at it
	bin/paimon-go-sink demo

test: unit integration ## all tests; installs the servers and Java Paimon that they need

unit: ## tests that need nothing but Go
	$(GO) test ./...

integration: build ## tests on real MySQL, MariaDB, Java Paimon and pypaimon
	integration/run.sh

race: ## unit tests under the race detector
	$(GO) test -race ./...
