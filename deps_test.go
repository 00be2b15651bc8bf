package hocket_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hocket-run/hocket/"

// layer says what a room may import of Hocket, by room; a room not named under may is out of bounds. Imports of tests do not count.
type layer struct {
	room   string // a package, or all below it where it ends in /...
	may    []string
	reason string
}

// layers is the import table of ARCHITECTURE.md. Imports go downward only; siblings do not know each other.
var layers = []layer{
	{"diag", nil, "places and problems are for everybody, so they know nobody"},
	{"workflow", []string{"diag"}, "the graph is what formats and engine share; it knows neither"},
	{".", []string{
		"workflow", "diag", "graph", "internal/program", "internal/driver", "internal/driver/program", "internal/engine", "internal/project", "internal/journal",
		"internal/service", "internal/secret", "internal/checkpoint", "internal/store", "internal/model", "internal/tool", "internal/chat", "internal/session/llm", "internal/telemetry", "internal/telemetry/otlp",
	}, "the way in for Go programs stands on everything that runs, and on no SDK, format or database"},
	{"acp", []string{"graph", "internal/session/acp"}, "programs that drive coding agents ask for the protocol; it knows sessions, not the engine"},
	{"graph", []string{"internal/jsontext", "workflow", "diag", "internal/program", "internal/schema"}, "the builder describes graphs; it runs none and knows no engine (D29)"},
	{"oteltrack", []string{".", "internal/telemetry"}, "telemetry hears of runs by the public package alone, and nobody who has none links it"},
	{"internal/program", nil, "the table of functions is what the builder and the running side share, so it knows neither"},
	{"internal/driver/program", []string{"internal/driver", "internal/engine", "internal/engine/typed", "internal/program"}, "a translation between the table and the ports, nothing more"},
	{"internal/engine/typed", nil, "typed states are values: the engine and what shows its events make them, they know neither"},
	{"internal/jsontext", nil, "the text of JSON is a leaf: it knows no value of ours"},
	{"internal/text", nil, "texts made of texts are a leaf: everything that holds or writes one may import them"},
	{"internal/chat", []string{"internal/text"}, "the vocabulary of conversations is a leaf"},
	{"internal/price", []string{"internal/chat", "internal/format/source", "diag"}, "the table of models is a document, so it uses the documents' loader; it knows no client of models"},
	{"internal/schema", nil, "the validator is a leaf"},
	{"internal/outbound", []string{"internal/tracecontext"}, "the one HTTP client knows nothing of what is sent but its trace"},
	{"internal/tracecontext", nil, "trace contexts know neither who sends them nor who takes them"},
	{"internal/expr", []string{"internal/jsontext", "diag", "internal/chat"}, "expressions see steps through a port, not the engine"},
	{"internal/engine/ledger", []string{"workflow", "internal/chat"}, "a sub-machine of the engine knows no other one: what it must know of the run it asks by an interface of its own"},
	{"internal/engine/waits", []string{"workflow", "internal/engine/event", "internal/expr", "internal/schema"}, "as the ledger: a sub-machine knows events and no other sub-machine"},
	{"internal/engine/plan", []string{"workflow", "internal/expr", "internal/schema"}, "a workflow made ready: all parts of the engine read it, it knows none of them"},
	{"internal/engine/prompt", []string{"internal/text", "internal/expr"}, "prompts are made of texts and steps' numbers; it knows no state, no event and no format"},
	{"internal/engine/event", []string{"workflow", "internal/chat", "internal/expr", "internal/engine/prompt", "internal/engine/typed"}, "events are data: all parts of the engine and all that stores or shows events know them"},
	{"internal/engine/loop", []string{"workflow", "internal/engine/event", "internal/chat", "internal/expr", "internal/text"}, "as the ledger: what it must know of steps and agents it asks by an interface of its own"},
	{"internal/engine/graph", []string{"workflow", "internal/engine/event", "internal/engine/plan", "internal/engine/prompt", "internal/engine/typed", "internal/expr", "internal/text"}, "as the ledger: what the loop keeps of a step it holds as a type parameter, which it does not read"},
	{"internal/engine", []string{"internal/engine/event", "internal/engine/plan", "internal/engine/graph", "internal/engine/ledger", "internal/engine/loop", "internal/engine/waits", "workflow", "internal/engine/prompt", "internal/engine/typed", "internal/text", "internal/expr", "internal/schema", "internal/chat"}, "the engine does no I/O and knows no driver, store, model or format"},
	{"internal/engine/enginetest", []string{"internal/engine", "internal/engine/prompt", "internal/text", "workflow", "internal/expr", "internal/chat", "internal/randtest"}, "test support stands on the engine alone"},
	{"internal/format/source", []string{"diag"}, "the loader knows no format"},
	{"internal/format/canvas", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents", "internal/format/lost", "workflow", "diag", "internal/expr", "internal/schema"}, "a format knows the graph, not its siblings; agents of all formats have keys in common"},
	{"internal/format/routes", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents", "internal/format/lost", "workflow", "diag"}, "a format knows the graph, not its siblings; the key agents is a section of agents files; lost names what is not written"},
	{"internal/format/steps", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents", "internal/format/lost", "workflow", "diag", "internal/expr", "internal/schema"}, "a format knows the graph, not its siblings; agents files have a section of it in common"},
	{"internal/format/rounds", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents", "internal/format/lost", "internal/schedule", "workflow", "diag"}, "a format knows the graph, not its siblings; a schedule is rejected where it is written (S1-22)"},
	{"internal/format/agents", []string{"internal/tool/kinds", "internal/format/source", "internal/permit", "internal/schema", "workflow", "diag"}, "agent definitions belong to no one format"},
	{"internal/format/lost", []string{"workflow"}, "it compares graphs, whatever they come from"},
	{"internal/errcode", []string{"diag"}, "the table of errors is below all that report them"},
	{"internal/explain", []string{"internal/errcode"}, "a table of codes: it imports none of the packages that report them"},
	{"internal/docschema/part", []string{"internal/format/agents", "internal/tool/kinds"}, "parts of schemas are made of the readers' tables of keys; they know no whole document"},
	{"internal/docschema", []string{"internal/docschema/part", "internal/format", "internal/config", "internal/model", "internal/tool"}, "formats have their schemas beside their readers; the list of schemas is made of the list of formats"},
	{"internal/format/formattest", []string{"internal/format/source", "workflow", "diag"}, "test support for all formats knows none"},
	{"internal/format", []string{"internal/format/...", "internal/expr", "workflow", "diag"}, "the parent finds the language and asks the child; what converting changes is in expressions, too"},
	{"internal/journal", []string{"internal/jsontext", "internal/engine", "internal/chat", "internal/text", "workflow"}, "the journal stores events; it runs nothing"},
	{"internal/store", []string{
		"internal/journal", "internal/catalog", "internal/access", "internal/api/hooks/hookdata", "internal/checkpoint", "internal/tool/memory", "internal/store/sqlite", "internal/store/sqlite/...",
	}, "the home knows the ports of what is kept and the kinds of stores; it knows no use case"},
	{"internal/store/sqlite", []string{"internal/journal"}, "a store knows records, not events"},
	{"internal/journal/journaltest", []string{"internal/journal", "internal/randtest"}, "one suite for all stores"},
	{"internal/catalog", []string{"internal/format/source", "workflow", "diag"}, "the catalog keeps documents; it knows of them only where rows stand in them"},
	{"internal/store/sqlite/catalogdb", []string{"internal/catalog", "internal/journal", "internal/store/sqlite"}, "agents, workflows and runs are one file with one writer, which lends its transactions"},
	{"internal/catalog/catalogtest", []string{"internal/catalog", "internal/randtest"}, "one suite for all stores"},
	{"internal/checkpoint", nil, "states under labels are no part of a run: it goes on without them"},
	{"internal/store/sqlite/checkpointdb", []string{"internal/checkpoint", "internal/journal", "internal/store/sqlite"}, "a table in a store's file, in transactions that it lends"},
	{"internal/checkpoint/checkpointtest", []string{"internal/checkpoint", "internal/randtest"}, "one suite for all stores"},
	{"internal/project", []string{"internal/jsontext", "internal/engine", "internal/engine/prompt", "internal/engine/typed", "internal/text", "internal/chat", "internal/expr", "workflow"}, "views are functions of events"},
	{"internal/view", []string{"internal/jsontext", "internal/project", "internal/journal", "internal/engine", "internal/engine/prompt", "internal/engine/typed", "internal/text", "workflow"}, "views in bounded memory are built on projections and records; where those are is behind a port"},
	{"internal/model", []string{"internal/chat", "internal/text", "internal/price", "diag"}, "the port knows no provider; context windows are in the table of models"},
	{"internal/model/adapter", []string{"internal/model", "internal/chat", "internal/text", "internal/outbound"}, "what adapters share"},
	{"internal/model/openai", []string{"internal/sse", "internal/model", "internal/model/adapter", "internal/chat", "internal/text"}, "an adapter knows its port, not its siblings"},
	{"internal/model/anthropic", []string{"internal/sse", "internal/model", "internal/model/adapter", "internal/chat", "internal/text"}, "an adapter knows its port, not its siblings"},
	{"internal/model/google", []string{"internal/model", "internal/model/adapter", "internal/chat"}, "an adapter knows its port, not its siblings"},
	{"internal/model/script", []string{"internal/model", "internal/model/adapter", "internal/chat", "internal/format/source", "diag"}, "a script is a document, so it uses the documents' loader"},
	{"internal/model/cassette", []string{"internal/model", "internal/model/script", "internal/model/adapter", "internal/chat", "internal/text", "internal/format/source"}, "a recording is a reply script"},
	{"internal/model/providers", []string{"internal/model/...", "internal/model", "internal/outbound"}, "the one place that knows every adapter"},
	{"internal/model/modeltest", []string{"internal/randtest", "internal/model", "internal/chat", "internal/text"}, "one suite for all adapters"},
	{"internal/permit", []string{"internal/permit/shellcmd"}, "patterns are compared with names and arguments, whatever they belong to"},
	{"internal/permit/shellcmd", nil, "reading a script needs nothing of Hocket"},
	{"internal/tool/kinds", nil, "the list of types of toolsets is for readers of documents and for package tool, so it knows neither"},
	{"internal/tool", []string{"internal/tool/kinds", "internal/chat", "internal/permit", "internal/schema", "diag"}, "the port knows no tool"},
	{"internal/secret", nil, "references and what may not be shown are for everybody, so they know nobody"},
	{"internal/config", []string{"internal/tool/kinds", "internal/format/source", "internal/permit", "internal/model", "internal/tool", "internal/secret", "diag"}, "the operator's file is a document that speaks of models and tools; who carries it out is no matter of it"},
	{"internal/ratelimit", nil, "pacing is arithmetic with a clock: it knows neither models nor runs"},
	{"internal/process", []string{"internal/process/supervise"}, "starting programs needs no knowledge of the protocols spoken with them"},
	{"internal/process/supervise", nil, "a supervisor is initialized before all that it would import"},
	{"internal/tool/command", []string{"internal/tool", "internal/process"}, "what toolsets that run programs share knows none of them"},
	{"internal/tool/shell", []string{"internal/tool", "internal/tool/command", "internal/chat", "internal/process"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/script", []string{"internal/tool", "internal/tool/command", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/memory", []string{"internal/tool", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/store/sqlite/memorydb", []string{"internal/tool/memory", "internal/store/sqlite"}, "a table in a store's file, in transactions that it lends"},
	{"internal/tool/memory/memorytest", []string{"internal/tool/memory"}, "one suite for all stores"},
	{"internal/tool/files", []string{"internal/tool", "internal/chat", "internal/process"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/refs", []string{"internal/process"}, "references are replaced in texts; what they are part of does not matter"},
	{"internal/tool/exchange", []string{"internal/tool", "internal/outbound", "internal/process"}, "one way to ask over HTTP for all toolsets; it knows none of them"},
	{"internal/tool/mcp", []string{"internal/tracecontext", "internal/tool", "internal/tool/refs", "internal/chat", "internal/process"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/fetch", []string{"internal/tool", "internal/tool/exchange", "internal/outbound", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/api", []string{"internal/tool", "internal/tool/exchange", "internal/tool/refs", "internal/chat", "internal/process"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/search", []string{"internal/tool", "internal/tool/exchange", "internal/tool/refs", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/fetch/page", nil, "pages are turned into text, wherever they come from"},
	{"internal/tool/think", []string{"internal/tool", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/todo", []string{"internal/tool", "internal/chat"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/userprompt", []string{"internal/tool", "internal/chat", "internal/schema"}, "a toolset knows its port, not its siblings"},
	{"internal/tool/tooltest", []string{"internal/tool", "internal/chat"}, "test support stands on the port alone"},
	{"internal/telemetry", []string{"internal/tracecontext", "internal/project", "internal/engine", "internal/chat", "workflow"}, "spans are functions of events, of which contents are shown as views show them; who sends them is behind a port"},
	{"internal/telemetry/otlp", []string{"internal/telemetry", "internal/outbound"}, "an exporter knows its port and the one HTTP client"},
	{"internal/driver", []string{"internal/engine", "internal/model", "internal/tool", "internal/journal", "internal/chat", "workflow"}, "drivers stand on the engine and the ports"},
	{"internal/driver/stored", []string{"internal/tracecontext", "internal/driver", "internal/engine", "internal/journal", "workflow"}, "what journals alone are needed for belongs to no driver"},
	{"internal/driver/embedded", []string{"internal/tracecontext", "internal/driver", "internal/engine", "internal/model", "internal/tool", "internal/journal", "internal/chat", "internal/text", "workflow"}, "no SDK and no database in a driver: they come through ports"},
	{"internal/session/acp", []string{"graph", "internal/process"}, "sessions know their port, not who builds nodes on them"},
	{"internal/session/sessiontest", []string{"graph", "internal/program"}, "test support stands on the builder and its table"},
	{"internal/session/llm", []string{"graph", "internal/model", "internal/chat"}, "sessions know their port and that of models, not who builds nodes on them"},
	{"internal/browsertest", nil, "finding a browser has nothing to do with what it shows"},
	{"internal/leaktest", nil, "looking for goroutines has nothing to do with what started them"},
	{"internal/randtest", nil, "a seed has nothing to do with what is drawn"},
	{"internal/killtest", []string{"internal/randtest"}, "the harness kills processes, whatever they run"},
	{"provider", []string{".", "internal/model", "internal/model/providers"}, "an option of the root package that brings the SDKs along, and nothing else"},
	{"toolsets", []string{".", "internal/tool/fetch/page"}, "an option of the root package that brings libraries along, and nothing else"},
	{"internal/schedule", []string{"workflow", "diag"}, "fire times are arithmetic: no clock, no store, no run"},
	{"internal/scheduler", []string{"internal/schedule", "internal/journal", "workflow"}, "policies of schedules know neither how workflows are stored nor how runs are carried out"},
	{"internal/sse", nil, "reading a stream of events has nothing to do with what they say"},
	{"internal/api/hooks/markup", nil, "writes HTML; knows nothing of what it says"},
	{"internal/api/hooks/hookdata", nil, "what is stored of hooks is known to stores, so it knows no use case"},
	{"internal/api/hooks", []string{"internal/api/hooks/hookdata", "internal/api/hooks/markup", "internal/tracecontext", "internal/view", "internal/access", "internal/catalog", "internal/api/transport", "internal/driver", "internal/engine", "internal/expr", "internal/inflight", "internal/journal", "internal/outbound", "internal/project", "internal/secret", "internal/service", "workflow"}, "webhooks, notifications and links are a transport: they know the use cases and no other door"},
	{"internal/store/sqlite/hookdb", []string{"internal/api/hooks/hookdata", "internal/store/sqlite"}, "tables in a store's file, in transactions that it lends"},
	{"internal/api/hooks/hookdata/hookdatatest", []string{"internal/api/hooks/hookdata"}, "one suite for all stores"},
	{"internal/access", nil, "who may do what is asked by every transport, so it knows none"},
	{"internal/store/sqlite/accessdb", []string{"internal/access", "internal/store/sqlite"}, "tables in a store's file, in transactions that it lends"},
	{"internal/access/accesstest", []string{"internal/access"}, "one suite for all stores"},
	{"internal/namespace", []string{"internal/service", "internal/access", "internal/store", "internal/telemetry", "internal/secret"}, "it opens services by name; what is asked of them is no matter of it"},
	{"internal/inflight", nil, "counting bytes has nothing to do with what they are"},
	{"internal/memlimit", nil, "how much memory there is has nothing to do with what takes it"},
	{"internal/service/failure", []string{"internal/catalog", "internal/driver", "internal/engine", "internal/errcode", "internal/journal", "internal/model", "diag"}, "errors of the use cases are known to all their parts, so they know none"},
	{"internal/service/definition", []string{"internal/service/failure", "internal/catalog", "internal/config", "internal/engine", "internal/errcode", "internal/format", "internal/format/agents", "internal/format/canvas", "internal/format/source", "internal/model", "internal/price", "internal/tool", "internal/tool/kinds", "internal/tool/search", "workflow", "diag"}, "documents are read and stored without runs: what carries them out is above"},
	{"internal/service/resources", []string{"internal/service/failure", "internal/service/definition", "internal/chat", "internal/config", "internal/driver", "internal/engine", "internal/errcode", "internal/format", "internal/format/canvas", "internal/journal", "internal/model", "internal/model/cassette", "internal/model/script", "internal/outbound", "internal/permit", "internal/permit/shellcmd", "internal/price", "internal/ratelimit", "internal/secret", "internal/store", "internal/tool", "internal/tool/...", "workflow", "diag"}, "models and tools are opened for a run: what starts runs is above, and the service gives it what calls of runs need"},
	{"internal/service/run", []string{"internal/service/failure", "internal/service/definition", "internal/service/resources", "internal/catalog", "internal/chat", "internal/config", "internal/driver", "internal/driver/stored", "internal/engine", "internal/errcode", "internal/expr", "internal/format", "internal/journal", "internal/model", "internal/project", "internal/telemetry", "internal/tool", "internal/tracecontext", "internal/view", "workflow", "diag"}, "runs are started and shown by ports of drivers and stores, whichever these are; what starts runs by the clock is above"},
	{"internal/service/schedule", []string{"internal/service/failure", "internal/service/definition", "internal/service/resources", "internal/service/run", "internal/catalog", "internal/config", "internal/driver", "internal/errcode", "internal/journal", "internal/project", "internal/schedule", "internal/scheduler", "workflow", "diag"}, "what happens by the clock calls documents and runs, and nothing calls it but the service"},
	{"internal/service", []string{"internal/service/...", "internal/catalog", "internal/config", "internal/driver", "internal/driver/embedded", "internal/engine", "internal/errcode", "internal/journal", "internal/model", "internal/price", "internal/ratelimit", "internal/secret", "internal/store", "internal/telemetry", "internal/telemetry/otlp", "internal/tool", "internal/tool/fetch", "internal/view", "workflow", "diag"}, "the parts of the use cases are composed here, with a kind of driver and a store; no transport and no SDK"},
	{"internal/api/transport", []string{"internal/errcode", "internal/access", "internal/inflight", "internal/service", "diag"}, "what transports share knows no protocol and no door"},
	{"internal/api/mcpserver", []string{
		"internal/tracecontext", "internal/errcode",
		"internal/tool/kinds", "internal/api/transport", "internal/access", "internal/service", "internal/view", "internal/engine", "internal/driver", "internal/project", "internal/journal", "internal/catalog", "internal/expr",
		"internal/format", "internal/format/source", "internal/schema", "workflow", "diag",
	}, "a transport knows what is behind it, not its siblings"},
	{"internal/api/httpapi", []string{"internal/errcode", "internal/view", "internal/api/hooks", "internal/api/transport", "internal/api/live", "internal/access", "internal/service", "internal/catalog", "internal/engine", "internal/expr", "internal/format", "internal/journal", "internal/model", "internal/project", "internal/scheduler", "workflow", "diag"}, "a transport maps one protocol to the service; it knows no other transport, no guard and nothing that runs"},
	{"internal/api/openaiapi", []string{"internal/api/transport", "internal/access", "internal/service", "internal/catalog", "internal/driver", "internal/engine", "internal/expr", "internal/format", "internal/journal", "internal/project", "workflow"}, "a transport maps one protocol to the service; it knows no other transport and no SDK of the protocol's owner"},
	{"internal/server", []string{"internal/tracecontext", "internal/api/hooks", "internal/store", "internal/outbound", "internal/namespace", "internal/api/httpapi", "internal/api/live", "internal/api/openaiapi", "internal/api/mcpserver", "internal/api/transport", "internal/inflight", "internal/memlimit", "internal/config", "internal/telemetry", "internal/access", "internal/service", "internal/scheduler", "internal/journal", "internal/secret"}, "composition and guard: transports and stores are put together here, and what they do is theirs"},
	{"internal/api/live", []string{"internal/view", "internal/api/transport", "internal/access", "internal/service", "internal/driver", "internal/project", "internal/journal", "internal/engine", "workflow"}, "streams show runs; they know neither the routes nor the guard around them"},
	{"examples", nil, "templates are files: what reads them does so as with any file"},
	{"internal/client", []string{"internal/jsontext", "internal/errcode", "internal/sse", "internal/tracecontext", "internal/view", "internal/client/api", "internal/catalog", "internal/format/source", "internal/service", "internal/driver", "internal/engine", "internal/expr", "internal/journal", "internal/outbound", "internal/project", "workflow", "diag"}, "a server is reached by its HTTP API alone; what is told of its runs and definitions is what the service tells"},
	{"internal/client/api", nil, "a generator made it of a document, so it knows nobody"},
	{"internal/show", []string{"workflow", "internal/show/layout", "internal/expr"}, "pictures are drawn from the graph"},
	{"internal/show/layout", nil, "boxes and arrows know no workflow"},
}

// owners says which packages alone may import a library, with the reason.
var owners = []struct{ dependency, owner, reason string }{
	{module + "internal/service/failure", "internal/service internal/service/definition internal/service/resources internal/service/run internal/service/schedule", "transports know the use cases by package service alone"},
	{module + "internal/service/schedule", "internal/service", "transports know the use cases by package service alone"},
	{module + "internal/service/run", "internal/service internal/service/schedule", "transports know the use cases by package service alone"},
	{module + "internal/service/resources", "internal/service internal/service/run internal/service/schedule", "transports know the use cases by package service alone"},
	{module + "internal/service/definition", "internal/service internal/service/resources internal/service/run internal/service/schedule", "transports know the use cases by package service alone"},
	{"github.com/oapi-codegen/runtime", "internal/client/api", "what generated code needs stays with it"},
	{"github.com/openai/openai-go", "internal/model/openai", "no SDK type leaves its adapter"},
	{"github.com/anthropics/anthropic-sdk-go", "internal/model/anthropic", "no SDK type leaves its adapter"},
	{"google.golang.org/genai", "internal/model/google", "no SDK type leaves its adapter"},
	{"modernc.org/sqlite", "internal/store/sqlite bench/internal/floor", "only a store knows a database driver, and the measure of what it can give"},
	{module + "internal/store/sqlite", "internal/store internal/store/sqlite/accessdb internal/store/sqlite/catalogdb internal/store/sqlite/checkpointdb internal/store/sqlite/hookdb internal/store/sqlite/memorydb", "only the home names a kind of store; all others ask it for their port"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/tool/mcp internal/api/mcpserver", "no SDK type leaves its toolset, or the server"},
	{"go.opentelemetry.io/otel", "oteltrack internal/tracecontext", "one place reads and writes trace contexts by OpenTelemetry's API, and only a program's own tracker knows more of it"},
	{"github.com/JohannesKaufmann/html-to-markdown", "internal/tool/fetch/page", "programs without web pages link no converter"},
	{"golang.org/x/net/html", "internal/tool/fetch/page", "programs without web pages link no parser of HTML"},
	{"golang.org/x/net/idna", "internal/tool", "hosts are compared in one form, where rules are compared with calls"},
	{"github.com/coder/acp-go-sdk", "internal/session/acp", "no SDK type leaves its session"},
	{"github.com/KimMachineGun/automemlimit", "internal/memlimit", "one place reads what the machine has"},
	{"github.com/prometheus/client_golang", "internal/server", "only a server is asked for its metrics"},
	{"cel.dev/cel-go", "internal/expr", "conditions have one language and one place"},
	{"github.com/danielgtaylor/huma", "internal/api/httpapi", "one transport speaks JSON over HTTP; the others have protocols of their own"},
	{"github.com/standard-webhooks/standard-webhooks", "internal/api/hooks", "one place signs and verifies"},
	{"mvdan.cc/sh", "internal/permit/shellcmd", "one place reads shell scripts"},
	{"github.com/spf13/cobra", "internal/cli internal/cmd/packaging", "verbs and flags are the command line's matter"},
}

// imports gives the imports of each package of the module, tests left out.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	all := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all[roomOf(f[0])] = f[1:]
	}
	if len(all) < 30 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

// roomOf gives a package's path within the module: "." is the root.
func roomOf(pkg string) string {
	if pkg+"/" == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module)
}

func TestLayers(t *testing.T) {
	t.Parallel()
	all := imports(t)
	for _, l := range layers {
		list, ok := all[l.room]
		if !ok {
			t.Errorf("room %s does not exist; take it out of the table", l.room)
		}
		for _, imp := range list {
			if room := roomOf(imp); strings.HasPrefix(imp+"/", module) && !slices.ContainsFunc(l.may, func(m string) bool { return within(room, m) }) {
				t.Errorf("%s imports %s: %s", l.room, room, l.reason)
			}
		}
	}
}

func within(room, pattern string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(room, below+"/")
	}
	return room == pattern
}

func TestOwners(t *testing.T) {
	t.Parallel()
	for room, list := range imports(t) {
		for _, imp := range list {
			for _, o := range owners {
				if (imp == o.dependency || strings.HasPrefix(imp, o.dependency+"/")) && !slices.Contains(strings.Fields(o.owner), room) {
					t.Errorf("%s imports %s, which only %s may: %s", room, imp, o.owner, o.reason)
				}
			}
		}
	}
}
