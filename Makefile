# `make` or `make help` lists the targets. They contain no logic of their own.
.DEFAULT_GOAL := help
# Flags of every build here, and of releases: .goreleaser.yaml has the same three lines. grpcnotrace omits a gRPC page whose templates make the linker
# keep every method (ADR 52). `go install` sets no tags: its program is larger but behaves the same.
export GOFLAGS += -trimpath -tags=grpcnotrace
LDFLAGS  := -s -w
GO       := CGO_ENABLED=0 go
GOLANGCI := v2.15.0
LINT     := .cache/bin/golangci-lint-$(GOLANGCI)
ACTIONS  := .cache/bin/actionlint-v1.7.12
TESTSUM  := .cache/bin/gotestsum-v1.13.0
RELEASER := .cache/bin/goreleaser-v2.16.0
# The name contains the version in internal/temporaltest/go.mod and internal/temporalserver.
TEMPORAL := .cache/bin/temporal-server-v1.32.1
# Tests against third-party programs: model and MCP servers, clients, a linter, a browser.
OTHERS   := aimock mcp openai redocly browser
PACKAGES := $(OTHERS:%=scripts/%/node_modules/.package-lock.json) web/node_modules/.package-lock.json
ALL      := HOCKET_AIMOCK=1 HOCKET_MCP=1 HOCKET_OPENAI=1 HOCKET_REDOCLY=1 HOCKET_BROWSER=1
CHROMIUM := .cache/chromium

.PHONY: help run check test test-all live web screenshots bench bench-page bench-peers lint fuzz build build-temporal docs snapshot release-check clean postgres temporal

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

run: ## run an example offline, with a reply script instead of a model
	$(GO) run -ldflags="$(LDFLAGS)" ./cmd/hocket run examples/newsroom/newsroom.yaml --replies examples/newsroom/replies.yaml "The town library opens on Sundays"

# The seed of all random tests (internal/randtest): the same code always has the same result. make test-all draws a seed; make test-all SEED=N repeats it.
test: SEED := 1
test-all: SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

check: $(LINT) ## before each commit: build, lint and test changed packages, and test their importers; BASE=main compares with main
	go run ./internal/cmd/check -lint $(CURDIR)/$(LINT) -base "$(BASE)"

test: lint web $(TESTSUM) $(PACKAGES) $(CHROMIUM) postgres ## required for each change: lint, tests (with the race detector in packages that start goroutines), and tests against third-party programs
	$(ALL) HOCKET_SEED=$(SEED) GOTESTSUM=$(CURDIR)/$(TESTSUM) scripts/gotest

test-all: lint web $(PACKAGES) $(CHROMIUM) postgres temporal ## everything, each night and before a release: Temporal (building its server the first time takes 5 to 15 minutes), clusters, many kills, all specs, programs and tests vetted for Windows and macOS, a random seed, which is printed
	@echo "make test-all SEED=$(SEED) repeats the same cases"
	cd internal/temporaltest && go mod tidy -diff
	cd internal/deploytest && go mod tidy -diff
	GOOS=windows $(GO) vet ./...
	GOOS=windows $(GO) vet -C temporal ./...
	GOOS=darwin $(GO) vet ./...
	GOOS=darwin $(GO) vet -C temporal ./...
	HOCKET_SEED=$(SEED) RAPID_CHECKS=1000 HOCKET_LONG=1 HOCKET_TEMPORAL=1 HOCKET_KILLS=1000 HOCKET_LOAD=1000 HOCKET_LOAD_BODIES=500 HOCKET_LOAD_SESSIONS=2000 HOCKET_LOAD_TOKENS=5000 $(ALL) go test -race -count=1 -timeout 3h ./...
	cd temporal && HOCKET_SEED=$(SEED) RAPID_CHECKS=1000 HOCKET_LONG=1 HOCKET_TEMPORAL=1 HOCKET_KILLS=1000 go test -race -count=1 -timeout 3h ./...
	cd internal/deploytest && HOCKET_SEED=$(SEED) HOCKET_TEMPORAL=1 go test -count=1 -timeout 10m .

web: web/node_modules/.package-lock.json ## build the page, check and test its source; fails if web/dist is not up to date
	cd web && npm run build && npm run check && HOCKET_SEED=$(or $(SEED),1) npm test
	git add --intent-to-add web/dist && git diff --exit-code --stat -- web/dist

live: ## run the examples with your API keys, for at most a dollar, against OpenAI, Anthropic, Google or MODELS="provider/model …", and print unexpected behaviour
	go run ./internal/cmd/live $(MODELS)

screenshots: web/node_modules/.package-lock.json $(CHROMIUM) ## take the screenshots of the page in docs/images; review each of them
	cd web && npm run build
	$(GO) build -o .cache/hocket-screenshots ./cmd/hocket
	node web/screenshots/take.mjs $(CURDIR)/.cache/hocket-screenshots "$$(command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chromium-headless-shell)" docs/images

bench: temporal postgres ## measure the engine, durable steps, cold start, paused runs, stores in PostgreSQL and Temporal, each against its floor; then the growth of costs from n to 2n, against the goals
	go test -run '^$$' -bench . -benchtime 1s ./bench
	go test -run '^$$' -bench . -benchtime 5x -timeout 30m ./bench/cluster
	go test -run '^$$' -bench Copy -benchtime 5x -timeout 30m ./internal/store/storecopy
	cd temporal && HOCKET_TEMPORAL=1 go test -run '^$$' -bench Runs -benchtime 5x -timeout 30m ./internal/temporaldriver
	go run ./bench/growth

bench-page: web/node_modules/.package-lock.json $(CHROMIUM) ## measure the page in a browser, against the goals; JSON=1 prints JSON, ONLY=editor,live,text,runs,map,value,pixel,list selects parts
	cd web && npm run build
	$(GO) build -ldflags="$(LDFLAGS)" -o .cache/hocket-bench ./cmd/hocket
	$(GO) build -o .cache/bench-page ./bench/page
	node web/bench/main.mjs $(CURDIR)/.cache/hocket-bench $(CURDIR)/.cache/bench-page "$$(command -v chromium || command -v chromium-browser || command -v google-chrome || command -v chromium-headless-shell)" $(if $(JSON),--json) $(if $(ONLY),--only $(ONLY))

bench-peers: ## compare Hocket with langgraphgo, Eino and DBOS, ROUNDS times (default 5); a separate module, whose dependencies are downloaded
	cd bench/peers && go run . -rounds $(or $(ROUNDS),5)

lint: $(LINT) $(ACTIONS) ## run gofmt, vet, golangci-lint and actionlint, and check that go.mod is tidy
	go mod tidy -diff
	cd bench/peers && go mod tidy -diff
	cd temporal && go mod tidy -diff
	$(ACTIONS)
	CGO_ENABLED=0 $(LINT) run ./... # with the flags of our builds, so that each package is compiled once
	cd temporal && CGO_ENABLED=0 $(CURDIR)/$(LINT) run ./...

fuzz: ## run each fuzz target for FUZZTIME (default 1m)
	go run ./internal/cmd/fuzz -time $(or $(FUZZTIME),1m)

build: ## build the static binary, bin/hocket
	$(GO) build -ldflags="$(LDFLAGS)" -o bin/hocket ./cmd/hocket

build-temporal: ## build the program with Temporal support, bin/hocket-temporal
	$(GO) build -C temporal -ldflags="$(LDFLAGS)" -o $(CURDIR)/bin/hocket-temporal ./cmd/hocket-temporal

docs: ## regenerate docs/cli and docs/llms.txt from the code
	go run ./internal/cmd/docs

snapshot: $(RELEASER) ## build a release in dist/, except the parts that need docker, cosign and syft
	$(RELEASER) release --snapshot --clean --skip=docker,sign,sbom

release-check: $(RELEASER) ## check the release configuration, and that go install builds the program from this work tree
	$(RELEASER) check
	HOCKET_INSTALL=1 go test -run '^TestInstall$$' -timeout 20m ./internal/lint

clean: ## remove the output of the other targets
	rm -rf bin dist .cache web/node_modules $(OTHERS:%=scripts/%/node_modules)

$(LINT):
	GOBIN=$(CURDIR)/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	mv .cache/bin/golangci-lint $@

$(ACTIONS):
	GOBIN=$(CURDIR)/.cache/bin go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	mv .cache/bin/actionlint $@

$(TESTSUM):
	GOBIN=$(CURDIR)/.cache/bin go install gotest.tools/gotestsum@v1.13.0
	mv .cache/bin/gotestsum $@

$(RELEASER):
	GOBIN=$(CURDIR)/.cache/bin go install github.com/goreleaser/goreleaser/v2@v2.16.0
	mv .cache/bin/goreleaser $@

$(CHROMIUM): # the installed browser, or one from apt; the headless shell uses little more than half of the processor time of chromium
	command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  sudo=; test "$$(id -u)" = 0 || sudo=sudo; $$sudo apt-get update && $$sudo apt-get install -y --no-install-recommends chromium-headless-shell || $$sudo apt-get install -y --no-install-recommends chromium; } || \
	  { echo "no browser was found and apt-get could not install one: install chromium or google-chrome, and run make again"; exit 1; }
	mkdir -p .cache && touch $@

postgres: # the installed programs (internal/pgtest has the same folders), or those from apt
	@{ command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres /usr/local/pgsql/bin/postgres /opt/homebrew/opt/postgresql*/bin/postgres \
	  /usr/local/opt/postgresql*/bin/postgres 2>/dev/null | grep -q .; } && { command -v pgbouncer >/dev/null || test -x /usr/sbin/pgbouncer; } || { \
	  sudo=; test "$$(id -u)" = 0 || sudo=sudo; $$sudo apt-get update && $$sudo apt-get install -y --no-install-recommends postgresql pgbouncer; } || \
	  { echo "PostgreSQL or pgbouncer was not found and apt-get could not install it: install PostgreSQL 14 or later with initdb, and pgbouncer, and run make again"; exit 1; }

temporal: # go build detects changes; -p limits the memory of the compilers
	cd internal/temporaltest && $(GO) build -p 2 -ldflags="$(LDFLAGS)" -o $(CURDIR)/$(TEMPORAL) .

web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

scripts/%/node_modules/.package-lock.json: scripts/%/package-lock.json
	cd scripts/$* && npm ci --no-audit --no-fund
	touch $@
