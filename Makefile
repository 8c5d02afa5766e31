# gaugeblock: `make` builds, vets, lints and tests. Nothing here needs a GPU.

GO ?= go
SHELL = bash

.PHONY: all build vet lint test race ci bench fuzz replay tla tla-check tla-mutants

all: build vet lint test

build:
	$(GO) build ./...

vet:
	$(GO) vet ./...

# The linter's version is pinned in go.mod, as a tool of the module.
lint:
	$(GO) tool staticcheck ./...
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then echo "not formatted: $$unformatted"; exit 1; fi

# "go test ./...", which moreover fails if a test is skipped that tests/skips/skips.txt
# does not expect.
test:
	@set -o pipefail; $(GO) test $(AT_ONCE) -json ./... | $(GO) run ./tests/skips

# The same with all rows of the long tables of tests, of which "go test ./..." takes some.
.PHONY: test-all
test-all:
	@GAUGEBLOCK_TESTS=all $(MAKE) --no-print-directory test

# The race detector has something to see where the code or the tests of a package start goroutines. Not here: packages
# whose goroutines explore or wait for processes apart from one another, and long tests of one goroutine.
CONCURRENT = '^[[:space:]]*go (func|[a-z])|\.Go\(|"gaugeblock/internal/inorder"'
APART = -e /internal/refinement -e /model/induction -e /tests/mutants -e /tests/tla/
ALONE = ^Test(.*Undoing|SteadyStateAllocatesNothing|SeveralDriverCallsFail|EveryDriverCall(Fails|Panics)|DetectorDoesNotGrow|ScriptOnRecordings|$\
	Explore(DiskFull|Memory|Killed)|NamesWithLineFeeds|Borders|MessagesAreShort|WhatIfOfCutTrace|OtherSettings|Transcripts|MutatedFiles|HostileStrings|$\
	(EndsOn|BoldOn)Terminal|ReportFolderOfIterations|PageOf.*|StandIns|MadeUp|GoldenTraces|TracesOfFullDevices|InvalidatedCaptures|WrongScale|SeededCompile|Get)$$
race:
	@set -o pipefail; $(GO) test $(AT_ONCE) -race -short -json -skip '$(ALONE)' \
		$$(grep -rlE --include='*.go' --exclude-dir=testdata $(CONCURRENT) . | xargs -n1 dirname | sort -u | grep -v $(APART)) \
		| $(GO) run ./tests/skips -short

# Tests wait for programs and for limits of time: three packages at once for two processors.
ci: export AT_ONCE = -p $(shell expr \( 3 \* $$(getconf _NPROCESSORS_ONLN) + 1 \) / 2)
ci: build vet lint test-all race

# The releases of PyTorch that tests run beside: fetched once, and kept in the user's cache.
.PHONY: releases
releases:
	$(GO) run ./cmd/gaugeblock torch get 2.8.0 2.9.1 2.10.0 2.11.0 2.12.1 2.13.0 2.14.1 2.15.0

# Replays what a real GPU did.
replay:
	$(GO) run ./cmd/gaugeblock replay tests/golden/testdata

# The hot paths on the fake device. COUNT and TIME are for benchstat's sake.
COUNT ?= 5
TIME ?= 1s
bench:
	$(GO) test ./tests/bench -run '^$$' -bench . -count $(COUNT) -benchtime $(TIME)

# Instructions of the hot paths, which fail if they have grown. It needs valgrind.
.PHONY: instructions
instructions:
	$(GO) test ./tests/bench/instructions -v

# The same beside PyTorch's own allocator, in one process: a release that "gaugeblock torch get" has
# fetched, several with commas between them, or the directory of one. It needs a C and a C++
# compiler. docs/benchmarks.md has results.
RUNS ?= 9
TORCH ?= newest
.PHONY: bench-torch
bench-torch:
	CGO_ENABLED=1 $(GO) run ./tools/torch/bench -runs $(RUNS) -torch "$(TORCH)"

# Each fuzz target for a while.
FUZZTIME ?= 1m
fuzz:
	$(GO) test ./spec/settings -run '^$$' -fuzz FuzzSettings -fuzztime $(FUZZTIME)
	$(GO) test ./spec/trace -run '^$$' -fuzz FuzzTraceReader -fuzztime $(FUZZTIME)
	$(GO) test ./snapshot -run '^$$' -fuzz FuzzRead -fuzztime $(FUZZTIME)
	$(GO) test ./snapshot -run '^$$' -fuzz FuzzPickle -fuzztime $(FUZZTIME)
	$(GO) test ./tests/property -run '^$$' -fuzz FuzzPrograms -fuzztime $(FUZZTIME) -fuzzminimizetime 1x
	$(GO) test ./model/tlc -run '^$$' -fuzz FuzzCanonicalState -fuzztime $(FUZZTIME)
	$(GO) test ./tools/check -run '^$$' -fuzz FuzzReader -fuzztime $(FUZZTIME)

# The C and C++ under the sanitizers of the compiler: beside PyTorch, if PYTHONS names one; examining allocators of
# others, which are as in "make zoo"; called at random, those above CUDA so often; by libFuzzer for FUZZSECONDS, which
# needs clang.
FUZZSECONDS ?= 300
THINCALLS ?= 500000
.PHONY: sanitize
sanitize:
	GAUGEBLOCK_TORCH_PYTHON="$(PYTHONS)" $(GO) test ./tools/run -run TestSanitized -count 1 -v -timeout 0 -args -sanitized
	$(GO) test ./tools/zoo -run TestSanitized -count 1 -v -timeout 0 -args -sanitized
	$(GO) test ./fakegpu/cuda -run 'TestAnyCalls|TestAnyThinCalls|TestFuzz' -count 1 -v -timeout 0 -args -fuzz-seconds $(FUZZSECONDS) -thin-calls $(THINCALLS)

# Slow searches: every broken allocator of tests/broken from five seeds, every rule of
# tests/graphtree, RMM's bugs, every locking mistake and every lock that is left out, and
# thousands of programs under the scheduler of tests/linearizability. "make test" has a
# sample of most.
.PHONY: search mutants alone weakened locks
search:
	$(GO) test ./tests/broken ./tests/graphtree ./tools/zoo -v -count 1 -timeout 2h -run 'TestFound|TestAbstractMemory|TestRules|TestZoo' -args -search
	$(GO) test ./tests/linearizability -v -count 1 -timeout 2h -args -search
	GAUGEBLOCK_TESTS=all $(GO) test ./tools/examine -v -count 1 -timeout 2h -run TestSeeded -args -all

# Small changes of the source, one at a time, which a test must notice: N of each folder, or of
# DIRS, chosen by SEED. docs/testing.md has what survives, and why.
SEED ?= 1
N ?= 50
DIRS ?=
mutants:
	$(GO) test ./tests/mutants -v -count 1 -timeout 0 -args -try -seed $(SEED) -n $(N) $(DIRS)

# All small changes of the model, which exploring with its properties alone must notice.
alone:
	$(GO) test ./tests/mutants -v -count 1 -timeout 0 -args -try -n 0 -tests tests/tla/alone -argued testdata/alone.txt model

# All small changes of the properties, each asked beside its property at every step of the model with each mistake of
# tests/tla/mutants, and of the model as it is: it must miss a mistake somewhere, or fail in the right model.
weakened:
	dir=$$(mktemp -d); $(GO) test ./tests/tla/mutants -count 1 -args -overlay $$dir && \
	$(GO) test ./tests/mutants -v -count 1 -timeout 0 -args -try -n 0 -apart -argued testdata/weakened.txt -overlay $$dir/overlay.json model/bounded; \
	status=$$?; rm -r $$dir; exit $$status

# Each lock of alloc/ is left out, and a test under the race detector must notice.
locks:
	$(GO) test ./tests/mutants -v -count 1 -timeout 0 -args -try -kinds lock -race -n 0 alloc

# The processor time that the tests of each package of PKG take, or with EACH=1 each test, beside
# BUSY loops.
BUSY ?= 0
EACH ?=
PKG ?= ./...
.PHONY: times
times:
	@export TIMES=$$(mktemp) EACH="$(EACH)" ROOT="$$PWD"; \
	for i in $$(seq $(BUSY)); do (while :; do :; done) & done; \
	$(GO) test -count 1 -exec "$$PWD/tests/cputime.sh" $(PKG); status=$$?; \
	kill $$(jobs -p) 2>/dev/null; sort -rn $$TIMES; rm $$TIMES; exit $$status

# TLC looks at every configuration of tla/ and says what there is (tla/manifests). Needs
# Java, and a tla2tools.jar of the TLA+ project; tla/README.md says where to get it.
# NAMES are those of some configurations; without, all.
tla:
	$(GO) run ./tests/tla/manifest -tools "$(TLA2TOOLS)" $(NAMES)

# TLC looks at the specification with each of the mistakes of tests/tla/mutants.
tla-mutants:
	$(GO) test ./tests/tla/mutants -v -count 1 -timeout 0 -args -tools "$(TLA2TOOLS)" $(NAMES)

# The same for tla/upstream: what PyTorch does where the reference deviates.
.PHONY: tla-upstream
tla-upstream:
	$(GO) run ./tests/tla/manifest -tools "$(TLA2TOOLS)" -upstream $(NAMES)

# TLC follows a history of a program on the reference: HISTORY, or that of a random program.
HISTORY ?=
tla-trace:
	$(GO) test ./tests/tla/history -count 1 -v -run TestHistories -args -tools "$(abspath $(TLA2TOOLS))" -history "$(if $(HISTORY),$(abspath $(HISTORY)))"

# The Go model is compared with all manifests, also those that are too large for "make test".
tla-check:
	$(GO) test ./tests/tla -count 1 -timeout 1h -v -run TestEquality -all

# The code takes every step of the small graphs, and of large ones: those of NAMES.
steps: NAMES ?= pools_expandable checkpoint_expandable
steps:
	$(GO) test ./internal/refinement -count 1 -timeout 1h -v -run TestEveryStepIsTaken -whole
	$(GO) test ./internal/refinement -count 1 -timeout 1h -v -run TestEveryStepIsTaken -large "$(NAMES)"

# Which branches of the model the configurations take, the large ones too.
.PHONY: steps branches
branches:
	$(GO) test ./tests/tla/branches -count 1 -timeout 1h -v -run TestBranches -all

# The invariants of the core are shown to be inductive, at all bounds: docs/verification.md.
.PHONY: induction
induction:
	$(GO) test ./model/induction -count 1 -timeout 1h -v -run TestInductive -args -large

# The core promise is proved at any size, which needs z3, and the steps of all small graphs are
# shown to be the moves that the proof is about: docs/verification.md.
.PHONY: proof
proof:
	$(GO) test ./model/unbounded -count 1 -timeout 1h -v -args -all

# What is carried to a GPU machine, in BUILD: the test binary, which needs glibc 2.34 and
# libcuda.so.1 there and nothing else; and the reference as a library that PyTorch plugs
# in, with its benchmark. cudaimpl/README.md says how to run them.
BUILD ?= build
.PHONY: gpu-suite pluggable gpu-run torch-check
gpu-suite:
	mkdir -p $(BUILD)
	CGO_ENABLED=1 $(GO) test -c -trimpath -ldflags "-s -w" -o $(BUILD)/gpu.test ./tests/gpu

pluggable:
	mkdir -p $(BUILD)
	CGO_ENABLED=1 $(GO) build -buildmode=c-shared -trimpath -ldflags "-s -w" -o $(BUILD)/libgaugeblock.so ./cudaimpl/pluggable/libgaugeblock
	rm $(BUILD)/libgaugeblock.h # gaugeblock.h of the sources is the one for people
	$(CXX) -O2 -Wall -Wextra -shared -fPIC -o $(BUILD)/libgaugeblock_torch.so cudaimpl/pluggable/libgaugeblock/shim/torch.cc -L$(BUILD) -lgaugeblock -Wl,--disable-new-dtags,-rpath,'$$ORIGIN'
	$(CXX) -O2 -Wall -Wextra -o $(BUILD)/entrybench tests/gpu/entrybench/entrybench.cc -ldl

# The fake GPU as CUDA's libraries, in BUILD/fake-cuda: fakegpu/cuda/README.md.
.PHONY: fake-cuda command
fake-cuda:
	$(GO) run ./fakegpu/cuda/build $(BUILD)/fake-cuda

# The command, in BUILD, beside these libraries: it can then be called in any folder.
command: fake-cuda
	CGO_ENABLED=1 $(GO) build -trimpath -o $(BUILD)/ ./cmd/gaugeblock

# Python wheels in BUILD/wheels, and binaries with checksums in BUILD/release: tools/release.
VERSION ?= 0.1.0
.PHONY: wheel release
wheel:
	$(GO) run ./tools/release wheels $(BUILD)/wheels $(VERSION)

release:
	$(GO) run ./tools/release binaries $(BUILD)/release $(VERSION)

# Programs on the fake GPU, with the Pythons of PYTHONS (one behind another as in PATH) that have PyTorch.
PYTHONS ?=
.PHONY: run-torch
run-torch:
	GAUGEBLOCK_TORCH_PYTHON="$(PYTHONS)" $(GO) test ./tools/run -count 1 -v -timeout 3h -run 'TestTorch|TestValues|TestInterruptedTraining|TestEnd|TestTruths|TestKinds'

# Other projects' allocators, built against these libraries in BUILD/foreign: tools/zoo/README.md. SRC
# is the folder of their sources, or of sources.tar.xz; ONLY is an expression for some recipes.
SRC ?= ../shared/foreign
ONLY ?=
.PHONY: foreign zoo
foreign:
	$(GO) run ./tools/foreign/build -src "$(SRC)" -to $(BUILD)/foreign -only "$(ONLY)"

# RMM's own tests of its pool and its arena, on the fake GPU.
.PHONY: rmm-gtests
rmm-gtests:
	$(GO) run ./tools/foreign/build -src "$(SRC)" -to $(BUILD)/foreign -only '^rmm-head-gtests$$'
	cd $(BUILD)/foreign && GAUGEBLOCK_CUDA_HAZARDS=off ./rmm-head-gtests # its arena writes a log where it runs

# CuPy's and Numba's tests of memory, streams and events on the fake GPU, counted. PYTHON has them installed; CUPY is
# CuPy's unpacked source distribution, HEADERS a folder with NVIDIA's headers (tools/foreign/python/suites.sh).
PYTHON ?= python3
CUPY ?=
HEADERS ?=
.PHONY: python-suites
python-suites: fake-cuda
	sh tools/foreign/python/suites.sh "$(CURDIR)/$(BUILD)/fake-cuda" "$(PYTHON)" "$(CUPY)" "$(HEADERS)"

# The fixed versions alone, for OPERATIONS each: what is found there is a false alarm.
OPERATIONS ?= 500000
.PHONY: zoo-fixes
zoo-fixes:
	$(GO) run ./tools/zoo/run -src "$(SRC)" -to $(BUILD)/foreign -only "$(ONLY)" -fixes $(OPERATIONS)

# Their real bugs, before and after the fix: the table of tools/zoo/README.md.
zoo:
	$(GO) run ./tools/zoo/run -src "$(SRC)" -to $(BUILD)/foreign -only "$(ONLY)"

# On the GPU machine, with what the two targets above have built in BUILD; no Go is needed
# there. torch-check needs PyTorch 2.11.
RESULTS ?= $(BUILD)/results
gpu-run:
	mkdir -p $(RESULTS)
	rm -f $(RESULTS)/summary.json
	GAUGEBLOCK_SUMMARY=$(RESULTS)/summary.json $(BUILD)/gpu.test -test.v -test.timeout 10m | tee $(RESULTS)/gpu.log
	grep '"device": "[^"]' $(RESULTS)/summary.json
	grep '"failed": \[\]' $(RESULTS)/summary.json

torch-check:
	python3 tests/gpu/torch_check.py all --lib $(BUILD) --out $(RESULTS) --record snapshot/record

# Pictures of pages of each kind in BUILD/screenshots: light, dark and narrow. It needs chromium, and for the page
# of a run a PYTHON with PyTorch.
.PHONY: screenshots
screenshots:
	PYTHON="$(PYTHON)" GO="$(GO)" snapshot/report/screenshots.sh $(BUILD)/screenshots
