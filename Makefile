GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  = -s -w -X main.version=$(VERSION)

.PHONY: help build demo test unit integration matrix soak faults race lint vuln fuzz bench bench-flink golden docs clean real

help: ## show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the programs into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

demo: build ## replay a recorded MySQL binlog into a local Paimon table, compact it beside, and look at it
	bin/paimon-go-sink demo

# Packages that have tests on real servers; their unit tests run with these.
REAL = $(shell grep -rl '^//go:build integration' --include='*_test.go' . | xargs -n1 dirname | sort -u)

test: ## all tests; installs the servers and Java Paimon that they need
	$(GO) test $$($(GO) list ./... | grep -vxF "$$($(GO) list -tags integration $(REAL))")
	@$(MAKE) --no-print-directory integration

unit: ## tests that need nothing but Go
	$(GO) test ./...

integration: build ## tests on real MySQL, MariaDB, Java Paimon and pypaimon
	integration/run.sh

real:
	@echo $(REAL)

SEEDS ?= 1
matrix: build ## random histories of every kind of table, beside a model and Java; SEEDS=5 of each
	PAIMON_GO_TEST_SEEDS=$(SEEDS) integration/run.sh -timeout 0 -run 'TestMatrix|TestEnginesFlushAsJavas'

# make soak DURATION=30m SEED=2 FAULT_EVERY=10s WAREHOUSE=local|hdfs|ha|s3; also RATE= (transactions a second), KEYS=, TICK=, PATIENCE=, DIR=, KEEP=1, INSTANCE=1 for a run beside another.
SOAK = SEED DURATION FAULT_EVERY WAREHOUSE RATE KEYS TICK PATIENCE DIR KEEP INSTANCE
soak: ## real programs under random faults until DURATION is over, then compare; a SEED replays
	@PAIMON_GO_MYSQL_ADDR=unused PAIMON_GO_MARIADB_ADDR=unused integration/setup.sh
	@home="$${PAIMON_GO_TEST_HOME:-$${XDG_CACHE_HOME:-$$HOME/.cache}/paimon-go-test}"; \
	  PAIMON_GO_TEST_HOME="$$home" PAIMON_GO_ORACLE="$${PAIMON_GO_ORACLE:-$$home/oracle/oracle}" \
	  $(foreach v,$(SOAK),$(if $($v),PAIMON_GO_SOAK_$v='$($v)')) \
	  $(GO) test -tags integration -count=1 -timeout 0 -v -run '^TestSoak$$' ./integration/soak

faults: ## each call of writer, commits, compaction and expiry fails in every way (minutes; unit tests take samples)
	PAIMON_GO_ALL_FAULTS=1 $(GO) test -timeout 60m -run 'Fault|Crash|FailureOf|Vanish|CutShort' ./table/... ./writer ./compactor ./cmd/paimon-go-sink

race: ## unit tests under the race detector
	$(GO) test -race ./...

lint: ## formatting, vetting, static analysis and the rules of internal/lint
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w"; exit 1; }
	$(GO) vet ./...
	$(GO) vet -tags integration ./...
	$(GO) tool staticcheck -tags integration ./...
	$(GO) test ./internal/lint/
	@$(MAKE) --no-print-directory vuln

vuln: ## known vulnerabilities in what we import; says so when the database can't be reached
	@GOBIN=$(CURDIR)/build $(GO) install golang.org/x/vuln/cmd/govulncheck@v1.9.0
	@build/govulncheck ./...; s=$$?; if [ $$s -eq 1 ]; then echo "govulncheck: not checked, see above"; elif [ $$s -ne 0 ]; then exit $$s; fi

FUZZTIME ?= 10s
fuzz: ## run each fuzz test for FUZZTIME (10s)
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "== $$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; done

# make bench PAIR=avro-words ROUNDS=5 BENCHFLAGS='-rows 4000000 -parallel 2'; see docs/benchmarks.md. Figures of runs that were made are
# in $(FIGURES): the same command goes on with what is missing, and `make bench BENCHFLAGS=-report` shows all.
PAIR       ?=
ROUNDS     ?= 3
FIGURES    ?= build/bench.jsonl
BENCHFLAGS ?=
bench: ## compare our writer and compactor with Java Paimon's and paimon-rust; PAIR= selects, ROUNDS= and BENCHFLAGS= adjust
	@[ -n "$$PAIMON_GO_ORACLE" ] || PAIMON_GO_MYSQL_ADDR=unused PAIMON_GO_MARIADB_ADDR=unused integration/setup.sh
	$(GO) build -trimpath -o build/bench ./integration/bench
	@PAIMON_GO_ORACLE="$${PAIMON_GO_ORACLE:-$${PAIMON_GO_TEST_HOME:-$${XDG_CACHE_HOME:-$$HOME/.cache}/paimon-go-test}/oracle/oracle}" \
	  PAIMON_GO_RUST_PYTHON="$${PAIMON_GO_RUST_PYTHON-$$(integration/bench/rust/setup.sh)}" \
	  build/bench -pair '$(PAIR)' -rounds $(ROUNDS) -json '$(FIGURES)' $(BENCHFLAGS)

# make bench-flink BENCHFLAGS='-phases catchup -sides ours,action'; see docs/benchmarks.md.
STORAGE ?=
bench-flink: ## compare the sink with Flink's jobs on the same changes in MySQL; STORAGE=hdfs counts the name node's calls
	@integration/bench/flink/run.sh $(STORAGE) $(BENCHFLAGS)

clean: ## remove what build made
	rm -rf bin build

golden: ## let Java Paimon write all golden tables and compare our reader with them
	integration/golden.sh

docs: ## write docs/table-options.md anew from the table of options
	$(GO) test ./table -run OptionsPage -update
