# gaugeblock: `make` builds, vets, lints and tests. Nothing here needs a GPU.

GO ?= go

.PHONY: all build vet lint test race ci bench fuzz

all: build vet lint test

build:
	$(GO) build ./...

vet:
	$(GO) vet ./...

# The linter's version is pinned in go.mod, as a tool of the module.
lint:
	$(GO) tool staticcheck ./...
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi

test:
	$(GO) test ./...

race:
	$(GO) test -race -short ./...

ci: build vet lint test race

# The hot paths on the fake device; docs/benchmarks.md has figures and says how to
# set them beside PyTorch's. COUNT and TIME are for benchstat's sake.
COUNT ?= 5
TIME ?= 1s
bench:
	$(GO) test ./tests/bench -run '^$$' -bench . -count $(COUNT) -benchtime $(TIME)

# Each fuzz target for a while.
FUZZTIME ?= 1m
fuzz:
	$(GO) test ./spec -run '^$$' -fuzz FuzzSettings -fuzztime $(FUZZTIME)
	$(GO) test ./spec -run '^$$' -fuzz FuzzTraceReader -fuzztime $(FUZZTIME)
