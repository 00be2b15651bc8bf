package lint_test

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hocket-run/hocket/"

// layer lists the packages of Hocket that a package may import; all others are forbidden. Imports
// of tests do not count.
type layer struct {
	pkg    string   // path within the module; "." is the root
	may    []string // packages, or a package tree: "internal/tool/..."
	reason string
}

// layers is the import table; each package of the modules has one row. Imports go downward only: a
// package does not import its siblings.
var layers = []layer{
	{"diag", nil, "every layer reports positions and diagnostics, so this package imports none of them"},
	{"workflow", []string{"diag"}, "formats write the graph and the engine reads it, so it imports neither"},
	{".", []string{"workflow", "diag", "graph", "internal/program", "internal/driver", "internal/driver/program",
		"internal/engine", "internal/engine/event", "internal/engine/waits", "internal/engine/ledger",
		"internal/project", "internal/journal", "internal/service", "internal/api/runsapi", "internal/secret",
		"internal/config", "internal/driver/carry", "internal/model", "internal/tool", "internal/chat",
		"internal/session/llm", "internal/telemetry", "internal/documents", "internal/parts",
		"internal/telemetry/otlp"},
		"the public API is built on all that runs workflows; SDKs, formats and databases come through ports"},
	{"acp", []string{"graph", "internal/session/acp"},
		"the public API of coding agents needs sessions, not the engine"},
	{"graph/compat", []string{".", "graph", "internal/checkpoint", "internal/store"},
		"names of the reference document over public packages, and its stores of states"},
	{"graph", []string{"internal/jsontext", "workflow", "diag", "internal/program", "internal/schema"},
		"the builder describes graphs and runs none, so it does not import the engine (D29)"},
	{"oteltrack", []string{".", "internal/telemetry"},
		"this tracker uses the public API only; a program without it does not link OpenTelemetry's SDK"},
	{"internal/program", nil, "the builder writes the table of functions and drivers read it, so it imports neither"},
	{"internal/driver/program", []string{"internal/driver", "internal/engine", "internal/engine/event",
		"internal/engine/loop", "internal/engine/typed", "internal/program"},
		"it adapts the table of functions to the ports of driver and engine"},
	{"internal/engine/typed", nil, "typed states are plain values, used by the engine and by views"},
	{"internal/jsontext", nil, "a leaf: it handles JSON text, not Hocket's types"},
	{"internal/text", nil, "a leaf, so that each package that stores or writes texts can import it"},
	{"internal/chat", []string{"internal/text"},
		"messages, tool calls and usage are used by all layers; below them are only texts"},
	{"internal/compact", []string{"internal/chat", "internal/text"},
		"what of a conversation stays is decided from its messages alone; who calls the model is above"},
	{"internal/price", []string{"internal/chat", "internal/format/source", "diag"},
		"the table of models is a document, so it is read by the documents' loader; it calls no model"},
	{"internal/schema", nil, "a leaf: it validates JSON, whatever the JSON is for"},
	{"internal/descriptors", nil, "a leaf: what starts programs and what opens connections wait for descriptors"},
	{"internal/outbound", []string{"internal/descriptors", "internal/tracecontext"},
		"the HTTP client adds trace headers and does not depend on what is sent"},
	{"internal/tracecontext", nil, "a leaf: it reads and writes trace contexts for all transports"},
	{"internal/expr", []string{"internal/jsontext", "diag", "internal/chat"},
		"expressions read steps through an interface of their own, not through the engine"},
	{"internal/expr/celexpr", []string{"internal/expr", "internal/jsontext", "internal/chat"},
		"expressions are compiled apart from what holds them, so that programs without expressions do not link CEL"},
	{"internal/engine/ledger", []string{"workflow", "internal/chat"},
		"the engine's sub-machines do not import each other; what this one needs of the run is an interface " +
			"that it owns"},
	{"internal/engine/waits", []string{"workflow", "internal/engine/event", "internal/expr", "internal/form",
		"internal/schema"}, "the engine's sub-machines do not import each other"},
	{"internal/engine/plan", []string{"workflow", "internal/expr", "internal/schema"},
		"all parts of the engine read the plan, so it imports none of them"},
	{"internal/engine/prompt", []string{"internal/text", "internal/expr"},
		"prompts refer to texts and to numbers of steps; no state, event or format is needed"},
	{"internal/engine/timer", nil, "a leaf: it names timers, for events too"},
	{"internal/engine/event", []string{"internal/compact", "workflow", "internal/chat", "internal/expr",
		"internal/engine/prompt", "internal/engine/timer", "internal/engine/typed"},
		"events are data, imported by all parts of the engine, by stores and by views"},
	{"internal/engine/loop", []string{"internal/compact", "workflow", "internal/engine/event", "internal/chat",
		"internal/expr", "internal/text"}, "the engine's sub-machines do not import each other; what this one needs " +
		"of steps and agents is an interface that it owns"},
	{"internal/engine/graph", []string{"internal/jsontext", "workflow", "internal/engine/event", "internal/engine/plan",
		"internal/engine/prompt", "internal/engine/typed", "internal/expr", "internal/text"},
		"the engine's sub-machines do not import each other; the loop's data of a step is a type parameter"},
	{"internal/engine", []string{"internal/compact", "internal/jsontext", "internal/engine/event",
		"internal/engine/plan", "internal/engine/graph", "internal/engine/ledger", "internal/engine/loop",
		"internal/engine/timer", "internal/engine/waits", "workflow", "internal/engine/prompt",
		"internal/engine/typed", "internal/text",
		"internal/expr", "internal/schema", "internal/chat"},
		"the engine does no I/O: no driver, store, model or format"},
	{"internal/engine/enginetest", []string{"internal/jsontext", "internal/engine", "internal/engine/event",
		"internal/engine/loop", "internal/text", "workflow", "internal/expr", "internal/chat", "internal/randtest",
		"internal/expr/celexpr"},
		"test support for the engine needs nothing above it"},
	{"internal/format/source", []string{"diag"}, "all formats use the loader, so it imports none of them"},
	{"internal/format/canvas", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents",
		"internal/format/inputs", "internal/format/lost", "internal/format/nodes", "internal/format/schedules",
		"internal/schedule", "workflow", "diag", "internal/expr"},
		"formats do not import each other; keys of agents are shared by package agents"},
	{"internal/format/routes", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents",
		"internal/format/lost", "internal/format/schedules", "workflow", "diag"},
		"formats do not import each other; keys of agents are shared by package agents, and package lost lists what " +
			"is not written"},
	{"internal/format/steps", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents",
		"internal/format/inputs", "internal/format/lost", "internal/format/nodes", "internal/format/schedules",
		"internal/schedule", "workflow", "diag", "internal/expr", "internal/schema", "internal/expr/celexpr"},
		"formats do not import each other; sections of agents files are shared by package agents"},
	{"internal/format/rounds", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents",
		"internal/format/inputs", "internal/format/lost", "internal/format/nodes", "internal/format/schedules",
		"internal/schedule", "workflow", "diag"},
		"formats do not import each other; schedules are validated while the document is read (S1-22)"},
	{"internal/format/agents", []string{"internal/tool/kinds", "internal/format/source", "internal/permit",
		"internal/schema", "workflow", "diag"}, "all formats use agent definitions, so this package imports no format"},
	{"internal/form", []string{"internal/schema", "workflow", "diag"},
		"forms are read by every transport and in the engine's waits, so this package imports none of them"},
	{"internal/format/inputs", []string{"internal/docschema/part", "internal/expr", "internal/expr/celexpr",
		"internal/form", "internal/format/source", "internal/schema", "workflow", "diag"},
		"formats share the keys of inputs, so this package imports no format"},
	{"internal/format/nodes", []string{"internal/docschema/part", "internal/format/source", "internal/format/agents",
		"internal/format/inputs", "internal/expr", "internal/schema", "workflow", "diag", "internal/expr/celexpr"},
		"formats share nodes without a model, so this package imports no format"},
	{"internal/format/schedules", []string{"internal/docschema/part", "internal/form", "internal/format/source",
		"internal/schedule", "workflow", "diag"},
		"formats share lists of schedules, so this package imports no format"},
	{"internal/format/lost", []string{"workflow"}, "it compares graphs, independent of their format"},
	{"internal/errcode", []string{"diag"}, "every layer reports errors, so the table imports none of them"},
	{"internal/explain", []string{"internal/errcode"},
		"it explains codes and imports none of the packages that report them"},
	{"internal/docschema/part", []string{"internal/format/agents", "internal/tool/kinds", "workflow"},
		"parts of schemas are derived from the tables of keys of the readers; whole documents are in package " +
			"docschema"},
	{"internal/docschema", []string{"internal/docschema/part", "internal/format", "internal/config", "internal/model",
		"internal/tool"},
		"the list of schemas is derived from the list of formats; each schema is in the package of its reader"},
	{"internal/format/formattest", []string{"internal/format/source", "workflow", "diag"},
		"test support shared by all formats imports none of them"},
	{"internal/documents", []string{"internal/expr", "internal/tool", "workflow", "diag"},
		"a port: use cases read documents through it, and it imports no format"},
	{"internal/documents/mcpclient", []string{"internal/documents", "internal/tool", "internal/tool/mcp"},
		"it implements the port of MCP; programs that need no MCP do not link it"},
	{"internal/documents/linked", []string{"internal/documents", "internal/documents/mcpclient",
		"internal/expr/celexpr", "internal/format", "workflow", "diag"},
		"it implements the port; programs that read no documents do not link it"},
	{"internal/format", []string{"internal/format/...", "internal/expr", "workflow", "diag", "internal/documents"},
		"it detects the format and calls its reader or writer; converting rewrites expressions too"},
	{"internal/journal", []string{"internal/jsontext", "internal/engine", "internal/engine/event", "internal/chat",
		"internal/text", "workflow"},
		"the journal stores events and runs nothing"},
	{"internal/store/pghome", []string{
		"internal/store", "internal/store/pgurl", "internal/store/postgres", "internal/store/tables",
		"internal/store/tables/...", "internal/journal", "internal/access", "internal/errcode",
	}, "it makes homes of the parts of a store on a server; only programs that ask for PostgreSQL import it"},
	{"postgres", []string{".", "internal/store", "internal/store/pghome", "internal/parts"},
		"this option is apart from the public API, so that programs which do not ask for PostgreSQL do not link " +
			"its driver"},
	{"internal/store/pgurl", []string{"internal/errcode", "diag"},
		"it reads URLs and connects to nothing, so that it is linked without a database driver"},
	{"internal/store", []string{
		"internal/store/pgurl", "internal/journal", "internal/catalog", "internal/access",
		"internal/api/hooks/hookdata", "internal/checkpoint", "internal/tool/memory", "internal/store/sqlite",
		"internal/store/tables", "internal/store/tables/...",
	}, "it opens stores behind their ports and needs no use case"},
	{"internal/store/storecopy", []string{"internal/store", "internal/store/tables", "internal/journal",
		"internal/access", "internal/errcode"}, "it copies rows between homes and knows no database"},
	{"internal/store/tables", nil, "a leaf: stores implement it and packages with tables use it"},
	{"internal/store/tables/tablestest", []string{"internal/pgtest", "internal/store/postgres", "internal/store/sqlite",
		"internal/store/tables"}, "test support opens stores of each kind"},
	{"internal/store/sqlite", []string{"internal/journal", "internal/store/tables"},
		"a store handles records, not events"},
	{"internal/store/postgres", []string{"internal/journal", "internal/store/tables"},
		"a store handles records, not events"},
	{"internal/journal/journaltest", []string{"internal/journal", "internal/randtest", "workflow"},
		"one suite for all stores"},
	{"internal/catalog", []string{"internal/format/source", "workflow", "diag"},
		"the catalog stores documents; the loader finds positions of rows in them"},
	{"internal/store/tables/catalogdb", []string{"internal/catalog", "internal/journal", "internal/store/tables",
		"workflow"}, "its tables are in every kind of store, whose transactions it borrows"},
	{"internal/catalog/catalogtest", []string{"internal/catalog", "internal/randtest", "workflow"},
		"one suite for all stores"},
	{"internal/checkpoint", nil, "runs do not depend on checkpoints, so checkpoints do not import runs"},
	{"internal/store/tables/checkpointdb", []string{"internal/checkpoint", "internal/journal", "internal/store/tables"},
		"its tables are in every kind of store, whose transactions it borrows"},
	{"internal/checkpoint/checkpointtest", []string{"internal/checkpoint", "internal/randtest"},
		"one suite for all stores"},
	{"internal/project", []string{"internal/jsontext", "internal/engine", "internal/engine/event",
		"internal/engine/prompt", "internal/engine/typed", "internal/text", "internal/chat", "internal/expr",
		"workflow"}, "projections are functions of events, without a store or driver"},
	{"internal/view", []string{"internal/engine/event", "internal/jsontext", "internal/chat", "internal/project",
		"internal/journal", "internal/engine/prompt", "internal/engine/typed", "internal/text", "workflow"},
		"views are built on projections and records, which they read through a port"},
	{"internal/model", []string{"internal/chat", "internal/text", "internal/price", "diag"},
		"the port imports no provider; context windows come from the table of models"},
	{"internal/model/adapter", []string{"internal/model", "internal/chat", "internal/text", "internal/outbound"},
		"what all adapters share; it imports none of them"},
	{"internal/model/openai", []string{"internal/sse", "internal/model", "internal/model/adapter", "internal/chat",
		"internal/text"}, "adapters implement the port and do not import each other"},
	{"internal/model/anthropic", []string{"internal/sse", "internal/model", "internal/model/adapter", "internal/chat",
		"internal/text"}, "adapters implement the port and do not import each other"},
	{"internal/model/google", []string{"internal/model", "internal/model/adapter", "internal/chat"},
		"adapters implement the port and do not import each other"},
	{"internal/model/script", []string{"internal/model", "internal/model/adapter", "internal/chat",
		"internal/format/source", "diag"}, "a reply script is a document, so it is read by the documents' loader"},
	{"internal/model/cassette", []string{"internal/model", "internal/model/script", "internal/model/adapter",
		"internal/chat", "internal/text", "internal/format/source"}, "a recording is written as a reply script"},
	{"internal/model/providers", []string{"internal/model/...", "internal/model", "internal/outbound"},
		"only this package imports every adapter"},
	{"internal/model/modeltest", []string{"internal/randtest", "internal/model", "internal/chat", "internal/text"},
		"one suite for all adapters"},
	{"internal/permit", []string{"internal/permit/shellcmd"},
		"patterns match names and arguments of calls, independent of the tool"},
	{"internal/permit/shellcmd", nil, "a leaf: it parses shell scripts"},
	{"internal/tool/kinds", nil,
		"readers of documents and package tool use the list of toolset types, so it imports neither"},
	{"internal/tool", []string{"internal/tool/kinds", "internal/chat", "internal/permit", "internal/schema", "diag"},
		"the port imports no toolset"},
	{"internal/secret", nil,
		"every layer resolves references and redacts values, so this package imports none of them"},
	{"internal/config", []string{"internal/tool/kinds", "internal/format/source", "internal/permit", "internal/model",
		"internal/tool", "internal/secret", "workflow", "diag"},
		"the operator's file names models and tools, in words that it shares with documents; what runs them is above"},
	{"internal/ratelimit", nil, "a leaf: rate limits are arithmetic with a clock"},
	{"internal/process", []string{"internal/descriptors", "internal/jsontext", "internal/process/supervise"},
		"it starts programs; their protocols are above"},
	{"internal/process/supervise", nil,
		"the supervisor's init must run before that of other packages, so it imports none"},
	{"internal/tool/command", []string{"internal/tool", "internal/process"},
		"shared by the toolsets that run programs; it imports none of them"},
	{"internal/tool/shell", []string{"internal/tool", "internal/tool/command", "internal/chat", "internal/process"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/script", []string{"internal/tool", "internal/tool/command", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/memory", []string{"internal/tool", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/store/tables/memorydb", []string{"internal/tool/memory", "internal/store/tables"},
		"its tables are in every kind of store, whose transactions it borrows"},
	{"internal/tool/memory/memorytest", []string{"internal/tool/memory"}, "one suite for all stores"},
	{"internal/tool/files", []string{"internal/tool", "internal/chat", "internal/process"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/refs", []string{"internal/process"}, "it replaces references in texts of any toolset"},
	{"internal/tool/exchange", []string{"internal/tool", "internal/outbound", "internal/process"},
		"shared by the toolsets that use HTTP; it imports none of them"},
	{"internal/tool/mcp", []string{"internal/tracecontext", "internal/tool", "internal/tool/refs", "internal/chat",
		"internal/jsontext", "internal/process"}, "toolsets implement the port and do not import each other"},
	{"internal/tool/fetch", []string{"internal/tool", "internal/tool/exchange", "internal/outbound", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/api", []string{"internal/tool", "internal/tool/exchange", "internal/tool/refs", "internal/chat",
		"internal/process"}, "toolsets implement the port and do not import each other"},
	{"internal/tool/search", []string{"internal/tool", "internal/tool/exchange", "internal/tool/refs", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/fetch/page", nil, "a leaf: it converts HTML to Markdown"},
	{"internal/tool/think", []string{"internal/tool", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/todo", []string{"internal/tool", "internal/chat"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/userprompt", []string{"internal/tool", "internal/chat", "internal/schema"},
		"toolsets implement the port and do not import each other"},
	{"internal/tool/tooltest", []string{"internal/tool", "internal/chat"},
		"test support for all toolsets needs the port alone"},
	{"internal/telemetry", []string{"internal/engine/event", "internal/compact", "internal/tracecontext",
		"internal/project", "internal/chat", "workflow"},
		"spans are functions of events, worded as in views; exporters are behind a port"},
	{"internal/telemetry/otlp", []string{"internal/telemetry", "internal/outbound"},
		"the exporter implements the port and uses the shared HTTP client"},
	{"internal/driver", []string{"internal/engine", "internal/engine/event", "internal/engine/loop",
		"internal/model", "internal/tool", "internal/journal", "internal/chat", "workflow"},
		"the contract of drivers names the types of engine, journal, models and tools"},
	{"internal/driver/stored", []string{"internal/tracecontext", "internal/driver", "internal/engine",
		"internal/engine/event", "internal/engine/loop", "internal/inflight", "internal/journal", "internal/tool",
		"workflow", "internal/expr"},
		"export, import and fork need the journal alone, so no driver"},
	{"internal/driver/held", []string{"internal/driver", "internal/engine", "internal/engine/event",
		"internal/engine/loop", "internal/engine/waits", "internal/journal", "internal/text", "workflow",
		"internal/expr"}, "what all drivers do with runs and journals; it carries out no call"},
	{"internal/driver/embedded", []string{"internal/driver/held", "internal/tracecontext", "internal/driver",
		"internal/engine", "internal/engine/event", "internal/engine/waits", "internal/model", "internal/journal",
		"internal/text", "workflow", "internal/expr"},
		"models, tools and stores come to a driver through ports: no SDK and no database"},
	{"internal/driver/carry", []string{"internal/config", "internal/driver", "internal/driver/embedded",
		"internal/store"}, "a port: the service calls it and does not know what implements it, so that programs link " +
		"Temporal only if they ask for it"},
	{"temporal/internal/carrier", []string{"internal/driver", "internal/driver/carry", "internal/driver/embedded",
		"temporal/internal/temporaldriver", "temporal/internal/dial", "internal/errcode", "internal/store"},
		"it implements the port; only programs that ask for Temporal import it"},
	{"temporal/internal/dial", []string{"internal/config", "internal/errcode"},
		"it connects by the operator's settings and knows no run"},
	{"temporal", []string{".", "internal/config", "internal/driver/carry", "temporal/internal/carrier",
		"internal/parts"}, "this option is apart from the public API, so that programs which do not ask for Temporal " +
		"do not link its SDK"},
	{"internal/session/acp", []string{"graph", "internal/jsontext", "internal/process"},
		"sessions implement the port of graph and do not depend on their callers"},
	{"internal/session/sessiontest", []string{"graph", "internal/program"},
		"test support for all sessions needs the builder alone"},
	{"internal/session/llm", []string{"internal/compact", "graph", "internal/model", "internal/chat"},
		"sessions implement the port of graph, call models through theirs, and do not depend on their callers"},
	{"internal/browsertest", []string{"internal/testinput"}, "it finds a browser for tests"},
	{"internal/certtest", nil, "a leaf: it makes certificates for tests"},
	{"internal/pgtest", []string{"internal/certtest"}, "it starts servers for tests, whatever they store there"},
	{"internal/temporalserver", []string{"internal/certtest"}, "it starts servers for tests, whatever runs on them"},
	{"internal/graphtest", []string{"graph"}, "fakes of what graphs call need graphs alone, not what runs them"},
	{"internal/outbound/outboundtest", nil, "a leaf: it serves tests of any HTTP client"},
	{"internal/leaktest", nil, "a leaf: it checks any package for leaked goroutines"},
	{"internal/lint", nil, "its tests read sources and call the go command"},
	{"internal/cli/scripts", nil, "its tests alone have code"},
	{"internal/longtest", nil, "a leaf: it says which tests make test-all alone runs"},
	{"internal/randtest", []string{"internal/longtest"}, "it sets the seed of random tests, and long tests draw more"},
	{"internal/testinput", nil, "a leaf: it names files to the go command"},
	{"internal/faultmatrix", nil, "a leaf: tests of all packages name the rows that they prove"},
	{"internal/killtest", []string{"internal/randtest"},
		"it kills processes, whatever they run; random tests need a seed"},
	{"documents", []string{".", "internal/documents/linked", "internal/parts"},
		"an option of the root package, so that only programs that use it link formats, CEL and MCP"},
	{"internal/parts", []string{"internal/documents", "internal/driver/carry", "internal/model", "internal/store",
		"internal/tool/fetch"}, "options of other packages fill it; it makes none of the parts"},
	{"provider", []string{".", "internal/model", "internal/model/providers", "internal/parts"},
		"an option of the root package, so that only programs that use it link the SDKs"},
	{"toolsets", []string{".", "internal/tool/fetch/page", "internal/parts", "internal/documents/mcpclient"},
		"an option of the root package, so that only programs that use it link its libraries"},
	{"internal/schedule", []string{"workflow", "diag"}, "fire times are pure arithmetic: no clock, no store, no run"},
	{"internal/scheduler", []string{"internal/schedule", "internal/journal", "workflow"},
		"it decides when runs start; workflows and runs are behind ports"},
	{"internal/sse", nil, "a leaf: it splits server-sent events and does not read their data"},
	{"internal/api/hooks/markup", nil, "a leaf: it writes HTML"},
	{"internal/api/hooks/hookdata", nil, "stores import the data of hooks, so it imports no use case"},
	{"internal/api/hooks", []string{"internal/op", "internal/engine/event", "internal/engine/waits", "internal/errcode",
		"internal/form", "internal/api/hooks/hookdata", "internal/api/hooks/markup", "internal/view",
		"internal/access", "internal/catalog", "internal/api/transport", "internal/driver", "internal/expr",
		"internal/inflight", "internal/journal", "internal/outbound", "internal/project", "internal/secret",
		"internal/service", "workflow"},
		"a transport calls the service and no other transport"},
	{"internal/store/tables/hookdb", []string{"internal/api/hooks/hookdata", "internal/store/tables"},
		"its tables are in every kind of store, whose transactions it borrows"},
	{"internal/api/hooks/hookdata/hookdatatest", []string{"internal/api/hooks/hookdata"}, "one suite for all stores"},
	{"internal/access", nil, "every transport checks access, so this package imports none of them"},
	{"internal/store/tables/accessdb", []string{"internal/access", "internal/store/tables"},
		"its tables are in every kind of store, whose transactions it borrows"},
	{"internal/access/accesstest", []string{"internal/access"}, "one suite for all stores"},
	{"internal/namespace", []string{"internal/service", "internal/access", "internal/store", "internal/telemetry",
		"internal/secret"}, "it opens the service of each namespace; requests are above"},
	{"internal/inflight", nil, "a leaf: it counts bytes"},
	{"internal/memlimit", nil, "a leaf: it reads the memory of the machine"},
	{"internal/service/failure", []string{"internal/catalog", "internal/driver", "internal/engine",
		"internal/engine/waits", "internal/errcode", "internal/journal", "internal/model", "diag"},
		"all use cases return these errors, so this package imports none of them"},
	{"internal/service/definition", []string{"internal/engine/event", "internal/service/failure",
		"internal/catalog", "internal/config", "internal/errcode", "internal/format/agents",
		"internal/format/source", "internal/inflight", "internal/model", "internal/permit", "internal/price",
		"internal/schema", "internal/tool", "internal/tool/kinds", "internal/tool/search", "workflow", "diag",
		"internal/documents"},
		"documents are read and stored without runs, which are above"},
	{"internal/service/resources", []string{"internal/service/failure", "internal/service/definition", "internal/chat",
		"internal/config", "internal/driver", "internal/engine", "internal/engine/event", "internal/engine/ledger",
		"internal/errcode", "internal/journal", "internal/model", "internal/model/cassette",
		"internal/model/script", "internal/outbound", "internal/permit", "internal/permit/shellcmd", "internal/price",
		"internal/ratelimit", "internal/secret", "internal/store", "internal/tool", "internal/tool/...", "workflow",
		"diag", "internal/documents"}, "it opens the models and tools of a run; starting runs is above"},
	{"internal/service/child", []string{"internal/driver", "internal/engine", "internal/engine/event",
		"internal/journal", "workflow"},
		"one lifecycle of child runs, whatever they run; it imports no other use case"},
	{"internal/service/run", []string{"internal/form", "internal/service/child", "internal/service/failure",
		"internal/service/definition", "internal/service/resources", "internal/catalog", "internal/chat",
		"internal/config", "internal/driver", "internal/driver/stored", "internal/engine", "internal/engine/event",
		"internal/engine/loop", "internal/engine/waits", "internal/engine/ledger", "internal/errcode",
		"internal/expr", "internal/journal", "internal/model", "internal/project", "internal/telemetry",
		"internal/tool", "internal/tracecontext", "internal/view", "workflow", "diag", "internal/documents"},
		"it starts and shows runs through ports of drivers and stores; schedules are above"},
	{"internal/service/schedule", []string{"internal/service/failure", "internal/service/definition",
		"internal/service/resources", "internal/service/run", "internal/catalog", "internal/config", "internal/driver",
		"internal/errcode", "internal/journal", "internal/project", "internal/schedule", "internal/scheduler",
		"workflow", "diag"}, "schedules start runs of stored documents; only package service imports them"},
	{"internal/service", []string{"internal/engine/event", "internal/service/...", "internal/catalog",
		"internal/config", "internal/driver", "internal/driver/carry", "internal/driver/embedded",
		"internal/errcode", "internal/journal", "internal/model", "internal/price", "internal/ratelimit",
		"internal/secret", "internal/store", "internal/telemetry", "internal/telemetry/otlp", "internal/tool",
		"internal/tool/fetch", "internal/view", "workflow", "diag", "internal/documents", "internal/project"},
		"it composes the use cases with a driver and a store; no transport and no SDK"},
	{"internal/api/transport", []string{"internal/errcode", "internal/access", "internal/inflight", "internal/service",
		"diag"}, "shared by all transports; it imports none of them"},
	{"internal/op", []string{"internal/errcode", "internal/api/transport", "internal/access", "internal/service",
		"internal/engine", "internal/engine/event", "internal/journal", "workflow"},
		"the table of operations calls the service; the transports that are derived from it are above"},
	{"internal/api/mcpserver", []string{"internal/op", "internal/tracecontext", "internal/errcode",
		"internal/tool/kinds",
		"internal/api/transport", "internal/access", "internal/service", "internal/view", "internal/engine",
		"internal/engine/event", "internal/engine/waits", "internal/driver", "internal/project", "internal/journal",
		"internal/catalog", "internal/expr", "internal/inflight", "internal/jsontext", "internal/form",
		"internal/format", "internal/format/source", "internal/schema", "workflow", "diag"},
		"a transport calls the service and no other transport"},
	{"internal/api/httpapi", []string{"internal/op", "internal/chat", "internal/docschema", "internal/format/canvas",
		"internal/form", "internal/show", "internal/errcode", "internal/view", "internal/api/hooks",
		"internal/api/transport", "internal/api/live", "internal/access", "internal/service", "internal/catalog",
		"internal/engine/event", "internal/expr", "internal/format", "internal/journal",
		"internal/model", "internal/project", "workflow", "diag"},
		"a transport calls the service; it imports webhooks and live streams, whose routes are in the same OpenAPI " +
			"document, but neither the server nor a driver"},
	{"web", nil, "a leaf: it holds the built page"},
	{"internal/api/page", []string{"internal/api/transport"},
		"it serves files to everyone; what they show they ask of the HTTP API"},
	{"internal/api/openaiapi", []string{"internal/api/transport", "internal/access", "internal/service",
		"internal/catalog", "internal/driver", "internal/engine", "internal/engine/event", "internal/engine/waits",
		"internal/expr", "internal/format", "internal/journal", "internal/project", "workflow"},
		"a transport calls the service and no other transport, and imports no SDK of OpenAI"},
	{"internal/server", []string{"internal/tracecontext", "internal/errcode", "internal/api/hooks", "internal/store",
		"internal/outbound", "internal/namespace", "internal/api/httpapi", "internal/api/live",
		"internal/api/openaiapi", "internal/api/mcpserver", "internal/api/page", "internal/api/transport", "web",
		"internal/inflight", "internal/memlimit", "internal/config", "internal/telemetry", "internal/access",
		"internal/service", "internal/scheduler", "internal/journal", "internal/secret"},
		"it composes transports, services and stores, and checks requests before they reach a transport"},
	{"internal/api/live", []string{"internal/view", "internal/api/transport", "internal/access", "internal/service",
		"internal/catalog", "internal/driver", "internal/project", "internal/journal", "internal/engine",
		"internal/engine/event", "workflow"},
		"streams show runs and changes of stored workflows; routes and checks of requests are above"},
	{"examples", nil, "a leaf: documents as embedded files"},
	{"internal/api/runsapi", []string{"internal/op", "internal/errcode", "internal/view", "internal/api/transport",
		"internal/api/live", "internal/access", "internal/service", "internal/engine/event",
		"internal/journal"},
		"it serves runs inside the servers of programs; who asks is decided by a function of theirs"},
	{"internal/client", []string{"internal/op", "internal/jsontext", "internal/errcode", "internal/sse",
		"internal/tracecontext", "internal/view", "internal/client/api", "internal/catalog", "internal/format/source",
		"internal/service",
		"internal/driver", "internal/engine/event", "internal/expr", "internal/journal",
		"internal/outbound", "internal/project", "workflow", "diag"},
		"it calls a server's HTTP API alone and returns the types of the service"},
	{"internal/client/api", nil, "generated from the OpenAPI document"},
	{"internal/show", []string{"diag", "internal/form", "workflow", "internal/show/layout"},
		"pictures are drawn from the graph, without a run"},
	{"internal/show/layout", nil, "a leaf: it places boxes and arrows"},
	{"cmd/hocket", []string{"internal/store/pghome", "internal/cli", "internal/memlimit", "internal/model/providers"},
		"main: it links the adapters of models and calls the command line"},
	{"temporal/cmd/hocket-temporal", []string{"internal/store/pghome", "internal/cli", "internal/memlimit",
		"internal/model/providers", "temporal/internal/carrier"}, "main: cmd/hocket with Temporal"},
	{"temporal/example", []string{".", "graph", "postgres", "temporal"}, "examples use public packages alone"},
	{"internal/cli", []string{"internal/op", "internal/documents/linked", "internal/form", "internal/store/pgurl",
		"internal/driver/carry", "internal/access", "internal/api/hooks", "internal/api/httpapi",
		"internal/api/mcpserver", "internal/api/transport", "internal/catalog", "internal/chat", "internal/client",
		"internal/config", "internal/docschema", "internal/driver", "internal/engine", "internal/engine/event",
		"internal/engine/waits", "internal/engine/ledger", "internal/errcode", "internal/explain", "internal/expr",
		"internal/format", "internal/format/source", "internal/journal", "internal/memlimit", "internal/model",
		"internal/price", "internal/process", "internal/project", "internal/schedule", "internal/scheduler",
		"internal/secret", "internal/server", "internal/service", "internal/show", "internal/store",
		"internal/store/storecopy", "internal/telemetry", "internal/telemetry/otlp", "internal/text",
		"internal/tool/fetch/page", "internal/tracecontext", "internal/view", "examples", "workflow", "diag"},
		"the command line composes the program: it starts the server and calls the service or a client of a server; " +
			"no SDK and no database"},
	{"internal/cmd/docs", []string{"internal/cli", "internal/format"},
		"it writes the reference of the command line from its commands"},
	{"internal/cmd/check", nil, "it calls git, the go command and the linter"},
	{"internal/cmd/fuzz", nil, "it calls the go command"},
	{"internal/cmd/live", []string{"internal/cli", "internal/model", "internal/model/adapter",
		"internal/model/providers", "internal/chat", "internal/price"},
		"it runs the examples through the command line and records the traffic of the adapters"},
	{"internal/cmd/mutants", nil, "it reads sources and calls the go command"},
	{"scripts/testtime", nil, "it calls the go command"},
	{"internal/cmd/models", nil, "it edits the file of the table of models as text"},
	{"internal/cmd/notice", nil, "it reads the list of modules and the module cache"},
	{"internal/cmd/packaging", []string{"internal/cli"},
		"it writes completion scripts and manual pages from the commands"},
	{"internal/sim", []string{"internal/driver", "internal/engine", "internal/engine/event", "internal/engine/loop",
		"internal/journal", "internal/model", "internal/tool", "internal/chat", "workflow"},
		"simulated models, tools and stores implement the ports of drivers; which driver runs is the test's choice"},
	{"temporal/internal/temporaldriver", []string{"internal/driver", "internal/driver/embedded",
		"internal/driver/held", "internal/engine", "internal/engine/event", "internal/errcode", "internal/model",
		"internal/tool", "internal/journal", "workflow"},
		"it carries the runs of one kind and leaves all others to the embedded driver; models, tools and stores come " +
			"to it through ports"},
	{"internal/driver/drivertest", []string{"internal/longtest", "internal/driver", "internal/driver/stored",
		"internal/sim", "internal/engine", "internal/engine/event", "internal/engine/loop", "internal/engine/waits",
		"internal/journal", "internal/model", "internal/tool", "internal/chat", "workflow", "internal/expr/celexpr"},
		"one suite for all drivers, so it imports none of them"},
	{"internal/equaltest", []string{"internal/engine/event", "internal/driver", "internal/driver/carry",
		"internal/driver/embedded", "internal/journal", "internal/pgtest", "internal/service", "internal/sim",
		"internal/store", "internal/store/pghome"}, "test support opens services on each store and driver"},
	{"internal/conformance", nil, "it has tests only"},
	{"internal/e2e", nil, "it has tests only; they start the built program"},
	{"internal/model/aimocktest", nil, "it has tests only"},
	{"bench", nil, "it has tests only"},
	{"bench/internal/floor", nil, "it measures the database driver without Hocket"},
	{"bench/internal/drive", []string{"internal/driver/program", "internal/engine", "internal/engine/event"},
		"it runs graphs on the engine alone"},
	{"bench/growth", []string{"internal/documents/linked", "bench/internal/drive", ".", "graph", "workflow",
		"internal/access", "internal/api/httpapi", "internal/api/transport", "internal/chat", "internal/cli",
		"internal/driver/program", "internal/engine", "internal/engine/event", "internal/journal", "internal/model",
		"internal/model/providers", "internal/service", "internal/store", "internal/text"},
		"it measures the public API, the engine, the service and its HTTP API; no package imports it"},
	{"bench/cluster", nil, "it has tests only"},
	{"bench/page", []string{"bench/internal/fill", "internal/journal", "internal/store"},
		"it fills a store without the engine; ids of copies are the same everywhere"},
	{"bench/internal/fill", []string{"internal/journal"}, "it writes the tables of a store without the store"},
	{"bench/scale", []string{"internal/engine/event", "internal/documents/linked", "bench/internal/fill",
		"internal/chat", "internal/journal", "internal/model", "internal/pgtest", "internal/service",
		"internal/store", "internal/store/pghome", "internal/text", "internal/tool", "workflow"},
		"it measures stores by the service; no package imports it"},
	{"docs", nil, "it has tests only"},
	{"examples/go/hello", []string{".", "graph"}, "examples use public packages alone"},
	{"examples/go/research", []string{".", "graph"}, "examples use public packages alone"},
	{"examples/go/review", []string{".", "graph"}, "examples use public packages alone"},
	{"examples/go/tool", []string{".", "documents", "provider"}, "examples use public packages alone"},
}

// owners lists the only packages that may import a library, with the reason.
var owners = []struct{ dependency, owner, reason string }{
	{module + "internal/service/failure",
		"internal/service internal/service/definition internal/service/resources internal/service/run " +
			"internal/service/schedule", "other packages reach the use cases through package service alone"},
	{module + "internal/service/child", "internal/service internal/service/run",
		"other packages reach the use cases through package service alone"},
	{module + "internal/service/schedule", "internal/service",
		"other packages reach the use cases through package service alone"},
	{module + "internal/service/run", "internal/service internal/service/schedule",
		"other packages reach the use cases through package service alone"},
	{module + "internal/service/resources", "internal/service internal/service/run internal/service/schedule",
		"other packages reach the use cases through package service alone"},
	{module + "internal/service/definition", "internal/service internal/service/resources internal/service/run " +
		"internal/service/schedule", "other packages reach the use cases through package service alone"},
	{"github.com/oapi-codegen/runtime", "internal/client/api", "only generated code needs it"},
	{"github.com/openai/openai-go", "internal/model/openai", "no SDK type leaves its adapter"},
	{"github.com/anthropics/anthropic-sdk-go", "internal/model/anthropic", "no SDK type leaves its adapter"},
	{"google.golang.org/genai", "internal/model/google", "no SDK type leaves its adapter"},
	{"modernc.org/sqlite", "internal/store/sqlite bench/internal/floor",
		"only stores use a database driver, and the benchmark that measures it"},
	{"github.com/jackc/pgx",
		"internal/pgtest internal/store/postgres internal/store/pghome internal/store/tables/tablestest " +
			"bench/internal/fill bench/scale",
		"only stores use a database driver, the servers of their tests, and what measures them"},
	{module + "internal/store/sqlite", "internal/store internal/store/tables/tablestest",
		"only internal/store names a kind of store; other packages get a port from it"},
	{module + "internal/store/postgres", "internal/store/pghome internal/store/tables/tablestest",
		"one package makes homes of stores in PostgreSQL"},
	{module + "internal/store/pghome", "cmd/hocket temporal/cmd/hocket-temporal postgres bench/scale " +
		"internal/equaltest", "a program links the driver of PostgreSQL only where it asks for it"},
	{"go.temporal.io/", "temporal/internal/temporaldriver temporal/internal/dial",
		"only the driver on Temporal uses its SDK"},
	{module + "temporal", "temporal temporal/cmd/hocket-temporal temporal/example temporal/internal/carrier",
		"a program links the SDK of Temporal only where it asks for it"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/tool/mcp internal/api/mcpserver",
		"no SDK type leaves its toolset, or the server"},
	{"go.opentelemetry.io/otel", "oteltrack internal/tracecontext",
		"one package reads and writes trace contexts by OpenTelemetry's API; only the tracker for its SDK needs more"},
	{"github.com/JohannesKaufmann/html-to-markdown", "internal/tool/fetch/page",
		"programs without web pages link no converter"},
	{"golang.org/x/net/html", "internal/tool/fetch/page", "programs without web pages link no parser of HTML"},
	{"golang.org/x/net/idna", "internal/tool", "hosts are normalized in one place, where rules are matched with calls"},
	{"github.com/coder/acp-go-sdk", "internal/session/acp", "no SDK type leaves its session"},
	{"github.com/KimMachineGun/automemlimit", "internal/memlimit", "one package reads the memory of the machine"},
	{"github.com/prometheus/client_golang", "internal/server", "only the server publishes metrics"},
	{"cel.dev/cel-go", "internal/expr/celexpr", "expressions are compiled in one package"},
	{module + "internal/expr/celexpr",
		"internal/documents/linked internal/engine/enginetest internal/driver/drivertest internal/format/inputs " +
			"internal/format/nodes internal/format/steps", "a program links CEL only where it reads documents"},
	{module + "internal/tool/mcp", "internal/documents/mcpclient",
		"a program links the client of MCP only where it asks for it"},
	{module + "internal/documents/linked", "documents internal/cli bench/growth bench/scale",
		"a program links the formats only where it reads documents"},
	{"github.com/danielgtaylor/huma", "internal/api/httpapi",
		"one transport is described by OpenAPI; the others have protocols of their own"},
	{"github.com/standard-webhooks/standard-webhooks", "internal/api/hooks", "one package signs and verifies webhooks"},
	{"mvdan.cc/sh", "internal/permit/shellcmd", "one package parses shell scripts"},
	{"github.com/spf13/cobra", "internal/cli internal/cmd/packaging", "only the command line has verbs and flags"},
}

// pkg is a package of the modules that have rows, for all systems.
type pkg struct{ files, tests []source }

// imports returns the paths of what the package imports, sorted, without the imports of its tests.
func (p *pkg) imports() []string {
	all := map[string]bool{}
	for _, f := range p.files {
		for _, imp := range f.Imports {
			all[importPath(imp)] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// packages returns the packages of this module and of the one for Temporal, by path.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	var others []string // modules whose packages have no rows
	for _, name := range files(t) {
		if dir := path.Dir(name); path.Base(name) == "go.mod" && dir != "." && dir != "temporal" {
			others = append(others, dir+"/")
		}
	}
	all := map[string]*pkg{}
	for _, f := range sources(t) {
		if slices.ContainsFunc(others, func(dir string) bool { return strings.HasPrefix(f.path, dir) }) {
			continue
		}
		p := all[f.folder()]
		if p == nil {
			p = &pkg{}
			all[f.folder()] = p
		}
		if f.isTest() {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	return all
}

// pathOf returns a package's path within the module; "." is the root.
func pathOf(pkg string) string {
	if pkg+"/" == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module)
}

// TestLayers checks that each package has one row and imports exactly what its row allows.
func TestLayers(t *testing.T) {
	t.Parallel()
	all := packages(t)
	seen := map[string]bool{}
	for _, l := range layers {
		p, ok := all[l.pkg]
		if !ok {
			t.Errorf("package %s does not exist; remove its row", l.pkg)
			continue
		}
		if seen[l.pkg] || l.reason == "" {
			t.Errorf("the row of %s is a duplicate or has no reason", l.pkg)
		}
		seen[l.pkg] = true
		used := map[string]bool{}
		for _, imp := range p.imports() {
			if !strings.HasPrefix(imp+"/", module) {
				continue
			}
			i := slices.IndexFunc(l.may, func(m string) bool { return within(pathOf(imp), m) })
			if i < 0 {
				t.Errorf("%s imports %s: %s", l.pkg, pathOf(imp), l.reason)
				continue
			}
			used[l.may[i]] = true
		}
		for _, m := range l.may {
			if !used[m] {
				t.Errorf("%s does not import %s; remove it from the row", l.pkg, m)
			}
		}
	}
	for pkg := range all {
		if !seen[pkg] {
			t.Errorf("package %s has no row; add one with the imports that it may have, and the reason", pkg)
		}
	}
}

// TestLayersAreDocumented checks that the package table in ARCHITECTURE.md covers each package with
// its own row or the row of its nearest ancestor, and lists nothing else.
func TestLayersAreDocumented(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(read(t, "ARCHITECTURE.md"), "| package | what it is |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	quoted := regexp.MustCompile("`([^`]+)`")
	rows := map[string]string{} // text of each package's row
	for row := range strings.Lines(table) {
		first, rest, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		for _, name := range quoted.FindAllStringSubmatch(first, -1) {
			pkg := name[1]
			if pkg == path.Base(module) {
				pkg = "."
			}
			rows[pkg] = rest
		}
	}
	known := map[string]bool{}
	for _, l := range layers {
		known[l.pkg] = true
		if _, ok := rows[l.pkg]; ok {
			continue
		}
		above := path.Dir(l.pkg)
		for rows[above] == "" && above != "." {
			above = path.Dir(above)
		}
		below := strings.TrimPrefix(l.pkg, above+"/")
		named := func(m []string) bool { return m[1] == below || m[1] == path.Base(below) || m[1] == path.Dir(below) }
		if above == "." || !slices.ContainsFunc(quoted.FindAllStringSubmatch(rows[above], -1), named) {
			t.Errorf("ARCHITECTURE.md does not name package %s", l.pkg)
		}
	}
	for pkg := range rows {
		if !known[pkg] && !slices.ContainsFunc(layers, func(l layer) bool { return within(l.pkg, pkg+"/...") }) {
			t.Errorf("ARCHITECTURE.md names %s, which is neither a package with a row here nor a folder of such "+
				"packages", pkg)
		}
	}
}

func within(pkg, pattern string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}

// TestDependencyOwners checks that the owners of a library, and no others, import it.
func TestDependencyOwners(t *testing.T) {
	t.Parallel()
	all := packages(t)
	for _, o := range owners {
		used := map[string]bool{}
		for pkg, p := range all {
			for _, imp := range p.imports() {
				if below(imp, o.dependency) {
					used[pkg] = true
				}
			}
		}
		allowed := strings.Fields(o.owner)
		for pkg := range used {
			if !slices.Contains(allowed, pkg) {
				t.Errorf("%s imports %s, which only %s may: %s", pkg, o.dependency, o.owner, o.reason)
			}
		}
		for _, pkg := range allowed {
			if !used[pkg] {
				t.Errorf("%s does not import %s; it is no owner of it", pkg, o.dependency)
			}
		}
	}
}
