# `make` or `make help` lists the targets. They hold no logic of their own.
.DEFAULT_GOAL := help
GOLANGCI := v2.15.0
LINT     := .cache/bin/golangci-lint-$(GOLANGCI)
AIMOCK   := scripts/aimock/node_modules/.package-lock.json
MCP      := scripts/mcp/node_modules/.package-lock.json
OPENAI   := scripts/openai/node_modules/.package-lock.json
REDOCLY  := scripts/redocly/node_modules/.package-lock.json
BROWSER  := scripts/browser/node_modules/.package-lock.json
CHROMIUM := .cache/chromium

.PHONY: help run test bench lint fuzz build docs soak clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

run: ## run an example offline, with a reply script in place of a model
	go run ./cmd/hocket run examples/newsroom/newsroom.yaml --replies examples/newsroom/replies.yaml "The town library opens on Sundays"

test: lint $(AIMOCK) $(MCP) $(OPENAI) $(REDOCLY) $(BROWSER) $(CHROMIUM) ## everything that must hold: lint, unit tests with the race detector, model servers, MCP servers, clients, a browser, scripts
	go build ./...
	HOCKET_AIMOCK=1 HOCKET_MCP=1 HOCKET_OPENAI=1 HOCKET_REDOCLY=1 HOCKET_BROWSER=1 HOCKET_KILLS=200 go test -race -timeout 25m -skip '^TestScripts$$' ./...
	go test -timeout 10m -run '^TestScripts$$' ./internal/cli # its processes start ten times slower with -race; soak has them so

bench: ## measure: engine, durable steps, cold start, paused runs, each beside its floor
	go test -run '^$$' -bench . -benchtime 1s ./bench/...

lint: $(LINT) ## gofmt, vet, golangci-lint, go.mod is tidy
	go mod tidy -diff
	$(LINT) run ./...

fuzz: ## each fuzz target for FUZZTIME (default 1m)
	go run ./internal/cmd/fuzz -time $(or $(FUZZTIME),1m)

build: ## the static binary, bin/hocket
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o bin/hocket ./cmd/hocket

docs: ## regenerate the command line reference in docs/
	go run ./internal/cmd/docs

soak: ## the long forms: many kills, long fuzzing
	HOCKET_SOAK=1 HOCKET_LOAD=1000 HOCKET_AIMOCK=1 HOCKET_MCP=1 HOCKET_OPENAI=1 HOCKET_REDOCLY=1 HOCKET_BROWSER=1 go test -race -timeout 3h ./...

clean: ## remove what the other targets made
	rm -rf bin .cache scripts/aimock/node_modules scripts/mcp/node_modules scripts/openai/node_modules scripts/redocly/node_modules scripts/browser/node_modules

$(LINT):
	GOBIN=$(CURDIR)/.cache/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI)
	mv .cache/bin/golangci-lint $@

$(CHROMIUM): # the browser of the machine, from its packages where there is none
	command -v chromium || command -v chromium-browser || command -v google-chrome || (apt-get update && apt-get install -y --no-install-recommends chromium)
	mkdir -p .cache
	touch $@

scripts/%/node_modules/.package-lock.json: scripts/%/package-lock.json
	cd scripts/$* && npm ci --no-audit --no-fund
	touch $@
