# Everything here needs Go, and the tests of connections Node with npm; script/with-postgres,
# script/chromium, script/php and script/deploy-tools bring the rest.
.DEFAULT_GOAL := help
.PHONY: help run dev build release reproduce test system-test chromium php deploy-tools test-sqlite test-postgres test-race e2e screenshots pictures fuzz mutate measure check lint vuln fmt bench bench-compare bench-record

GO   := go
TOOL := $(GO) tool -modfile=tools/go.mod

FUZZTIME ?= 10s

# How the program is shipped: one static file, the same bytes wherever it is built, without
# debug information, which nobody needs for a stack trace.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
BUILD     := CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-w

# Tests wait for browsers, databases and retries: more packages than cores at once.
# The targets vet all packages by themselves, so that go test need not. Without cgo, as
# the program is shipped, packages are compiled once for the tests and the program;
# without debug information and symbols test binaries are linked in half the time. The
# end-to-end tests come first, because they take longest. Tests live shortly and have
# memory: the garbage collector took a third of their time.
TEST := CGO_ENABLED=0 GOGC=400 script/temporary $(GO) test -p 4 -timeout 15m -vet=off -ldflags=-s
ALL  := ./internal/e2e ./...

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Run the service on claviger.db in this folder (ARGS="--addr …")
	$(GO) run ./cmd/claviger serve $(ARGS)

dev: ## Run it seeded, with credentials printed and loopback partners allowed (ARGS="--json …")
	$(GO) run ./cmd/claviger dev $(ARGS)

build: ## Build bin/claviger
	$(BUILD) -o bin/ ./cmd/claviger

release: ## Programs for all systems, checksums and a bill of materials (CycloneDX), into bin/release
	@test -z "$$(git status --porcelain)" || { echo "release: commit your changes first, since the version names the commit" >&2; exit 1; }
	rm -rf bin/release
	@set -e; for p in $(PLATFORMS); do \
		export GOOS=$${p%/*} GOARCH=$${p#*/}; name=claviger-$$GOOS-$$GOARCH; \
		[ $$GOOS != windows ] || name=$$name.exe; \
		echo "bin/release/$$name"; $(BUILD) -o bin/release/$$name ./cmd/claviger; \
	done
	$(GO) run -C tools ./sbom ../bin/release

reproduce: ## Build twice, here and in another folder with an empty cache, and compare the bytes (takes minutes)
	@test -z "$$(git status --porcelain)" || { echo "reproduce: commit your changes first, since the version names the commit" >&2; exit 1; }
	@set -e; dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
		$(BUILD) -o "$$dir/here" ./cmd/claviger; \
		git clone -q . "$$dir/clone"; \
		(cd "$$dir/clone" && export GOCACHE="$$dir/cache" && $(BUILD) -o "$$dir/there" ./cmd/claviger); \
		cmp "$$dir/here" "$$dir/there" && sha256sum < "$$dir/here"

test: chromium php deploy-tools ## go vet and all tests, on SQLite and on a temporary PostgreSQL
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) test -C tools -count=1 ./manifests # the cache does not see files of another module
	script/with-postgres env $(TEST) -exec "$(CURDIR)/script/on-both" $(ALL)

system-test: deploy-tools ## What needs several builds or nodes: upgrades, proxies, poolers, failovers (takes minutes, and the whole history)
	script/with-postgres env CLAVIGER_SYSTEM_TEST=1 CGO_ENABLED=0 script/temporary $(GO) test -count=1 -timeout 30m -v ./internal/e2e/system

chromium: ## Install Chromium, in which pages are looked at, where it is missing
	@script/chromium >/dev/null

php: ## Install PHP and Python, in which the samples of docs/webhooks.md are run, where they are missing
	@script/php >/dev/null

deploy-tools: ## Install nginx, Caddy, buildah, promtool and systemd-analyze, which check the files of deploy/, where they are missing
	@script/deploy-tools >/dev/null || true # its tests say what they skip

test-sqlite: chromium php deploy-tools ## go vet and all tests, on SQLite alone
	CGO_ENABLED=0 $(GO) vet ./...
	$(TEST) $(ALL)

test-postgres: chromium php deploy-tools ## All tests, on a temporary PostgreSQL alone
	script/with-postgres env $(TEST) $(ALL)

test-race: ## All tests under the race detector, on both databases (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race ./...
	CGO_ENABLED=1 script/with-postgres $(GO) test -race ./...

e2e: chromium ## The end-to-end tests alone, on SQLite; pictures of the pages go to bin/screenshots
	CLAVIGER_SCREENSHOTS=$(CURDIR)/bin/screenshots $(GO) test ./internal/e2e/...

screenshots: chromium ## Pictures of every page, the documentation and the mails to buyers, in light and dark at 1280 and 390 px, into bin/screenshots
	CLAVIGER_SCREENSHOTS=$(CURDIR)/bin/screenshots $(GO) test ./internal/e2e -run '^(TestPortalPages|TestConsolePages|TestConsoleInvite|TestSetUp|TestJourney|TestPagesOfTrouble|TestBuyerPages|TestDocs)$$' -count=1

pictures: chromium ## Take the pictures of README.md, docs/portal.md and docs/console.md again, into docs/pictures
	CLAVIGER_PICTURES=$(CURDIR)/docs/pictures $(GO) test ./internal/e2e -run '^TestPictures' -count=1

fuzz: ## Each fuzz target for FUZZTIME (default 10s)
	script/fuzz $(FUZZTIME)

mutate: ## Change PKG in one place at a time and list what its tests do not notice (ARGS="-j 2 -n 50 -file run.go"; -also ./internal/dispatch for webhook, which it tests too)
	$(GO) run -C tools ./mutate -root .. $(ARGS) $(PKG)

measure: ## Print how readable the code is: rates of words, tokens, long lines, hidden connections (ARGS="-packages -fields -worst 20")
	$(GO) run -C tools ./measure -root .. $(ARGS)

check: test lint ## What has to pass before a change is taken

lint: ## golangci-lint, pinned in tools/go.mod (its first build takes minutes)
	$(TOOL) golangci-lint run ./...

vuln: ## Known vulnerabilities in what we depend on (asks the Go vulnerability database)
	$(TOOL) govulncheck ./...

fmt: ## Format the code (gofumpt, goimports) and tidy go.mod
	$(TOOL) golangci-lint fmt ./...
	$(GO) mod tidy

bench: ## The benchmarks of bench/, on both databases, durable (see bench/README.md)
	CLAVIGER_PG_DURABLE=1 script/with-postgres $(GO) run ./bench

bench-compare: ## Compare the last make bench with bench/baseline.txt (benchstat)
	$(TOOL) benchstat bench/baseline.txt bench/data/latest.txt

bench-record: ## make bench, and make its figures the baseline and the table of bench/README.md
	CLAVIGER_PG_DURABLE=1 script/with-postgres $(GO) run ./bench -record bench
