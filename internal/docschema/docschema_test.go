package docschema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/docschema"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/formattest"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "write the schemas into docs/schema")

const published = "../../docs/schema/"

func compiled(t *testing.T, name string) *schema.Schema {
	t.Helper()
	raw, err := docschema.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, raw)
	}
	return s
}

// TestSchemas_UpToDate checks that docs/schema, which other programs and editors load, holds the
// schemas that Get returns; -update writes them.
func TestSchemas_UpToDate(t *testing.T) {
	for _, name := range docschema.Names() {
		want, err := docschema.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		file := published + name + ".json"
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs from the code (%v): run go test ./internal/docschema -update", file, err)
		}
		if docschema.Title(name) == "" {
			t.Errorf("%s has no title", name)
		}
	}
	if _, err := docschema.Get("odd"); err == nil {
		t.Error("there is a schema of odd documents")
	}
}

// undetectable maps the codes of errors that a schema cannot detect to the reason.
var undetectable = map[string]string{
	"unknown-agent": refers, "unknown-entrypoint": refers, "unknown-step": refers, "unknown-target": refers,
	"bad-reference": refers, "bad-handoff": refers, "bad-entrypoint": refers,
	"foreign-row": refers, "unknown-path": refers, "not-boolean": refers, "type-mismatch": refers,
	"duplicate-node": twice, "duplicate-agent": twice, "duplicate-edge-id": twice, "duplicate-branch-id": twice,
	"duplicate-id": twice, "said-twice": twice, "two-names": twice, "many-always": twice,
	"unreachable-step": graph, "missing-max-rounds": graph,
	"missing-schedule": "a branch inherits the mode of the document", "subagent-source": graph,
	"subagent-target":   graph,
	"subagent-disabled": graph, "subagent-handle": graph, "subagent-self": graph, "subagent-parents": graph,
	"subagent-execution": graph, "subagent-cycle": graph,
	"bad-condition": text, "unclosed-template": text, "bad-schema": text, "bad-permission": text, "bad-schedule": text,
	"unknown-time-zone": text,
}

const (
	refers = "it is about another part of the document"
	twice  = "a schema cannot compare parts"
	graph  = "it is about the graph as a whole"
	text   = "it is inside of a text"
)

// exempt lists documents whose error has a code that a schema can detect elsewhere, but not there.
var exempt = map[string]string{
	"steps/testdata/broken/id_only.txtar": "whether an id alone is that of a step before depends on the " +
		"other steps",
	"steps/testdata/broken/x_41_limit_loops.txtar": "which loop a limit is of depends on where the branches lead",
}

// TestCorpora checks that each document of the corpora that its reader accepts without a problem
// validates, and that one with an error that a schema can express does not (ADR 51).
func TestCorpora(t *testing.T) {
	t.Parallel()
	schemas := map[string]*schema.Schema{}
	for _, name := range docschema.Names() {
		schemas[name] = compiled(t, name)
	}
	var agents []workflow.Agent
	for id := range strings.FieldsSeq(
		"a1 a2 beside agent-uuid-router agent-uuid-rc2 agent-uuid-dm2 agent-uuid-2n writer critic") {
		agents = append(agents, workflow.Agent{ID: id, Name: id})
	}
	met := map[string]bool{}
	valid, refused := map[string]int{}, map[string]int{}
	for file, data := range corpora(t) {
		root, parsed := source.Parse(file, data)
		if root == nil || parsed.HasErrors() {
			continue
		}
		kind := format.Detect(root)
		if of, ok := formatOf(file); ok {
			kind = of
		}
		if kind == "" {
			continue
		}
		_, problems := format.Read(file, data, format.Options{Format: kind, Agents: agents})
		violations := schemas[kind].Validate(root.JSON())
		codes := map[string]bool{}
		for _, d := range problems {
			if d.Severity == diag.Error {
				codes[d.Code] = true
			}
		}
		unknown := slices.ContainsFunc(problems, func(d diag.Diagnostic) bool {
			return slices.Contains([]string{"unknown-key", "misplaced-key", "edge-condition"}, d.Code)
		})
		expressible := !slices.ContainsFunc(slices.Collect(maps.Keys(exempt)), func(part string) bool {
			return strings.Contains(file, part)
		})
		for code := range codes {
			if undetectable[code] != "" {
				met[code] = true
				expressible = false
			}
		}
		switch {
		case len(codes) == 0 && !unknown:
			valid[kind]++
			if len(violations) > 0 {
				t.Errorf("%s (%s) is valid, and its schema says %s", file, kind, schema.Describe(violations))
			}
		case expressible && len(codes) > 0:
			refused[kind]++
			if len(violations) == 0 {
				t.Errorf("%s (%s) validates, and its reader says\n%s", file, kind, problems.Error())
			}
		}
	}
	for code := range undetectable {
		if !met[code] {
			t.Errorf("no document of the corpora has the error %s, which schemas cannot find", code)
		}
	}
	for _, name := range format.Names() {
		if valid[name] < 10 || refused[name] < 3 {
			t.Errorf("%s: %d valid documents and %d refused, too few", name, valid[name], refused[name])
		}
	}
}

// formatOf returns the format of the documents of an archive.
func formatOf(file string) (string, bool) {
	for _, name := range format.Names() {
		if strings.Contains(file, "/"+name+"/") {
			return name, true
		}
	}
	return "", false
}

// corpora returns the documents of the readers' archives and of the examples.
func corpora(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, d := range formattest.Documents(t, "../format/*/testdata/*.txtar", "../format/steps/testdata/*/*.txtar",
		"../../examples/*/*") {
		if !slices.Contains([]string{"replies.yaml", "tools.yaml", "agents.yaml", "hocket.yaml", "offline.yaml"},
			filepath.Base(d.Name)) || path.Ext(d.Path) == ".txtar" {
			out[d.Path+":"+d.Name] = d.Data
		}
	}
	return out
}

// TestRepliesAndTools checks that the schemas of reply scripts and tools files agree with their
// readers.
func TestRepliesAndTools(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		kind, text string
		ok         bool
	}{
		{"replies", "replies:\n", true},
		{"replies", "replies: [{text: a}, {agent: b, json: null}, {toolCalls: [{name: t, arguments: {x: 1}}], times: " +
			"always}, {error: {code: rate_limit, retryAfterMs: 5}}]", true},
		{"replies", "replies: [{text: 5, contains: true, delayMs: 3, usage: {inputTokens: 1}, stopReason: length, " +
			"reasoning: hm}]", true},
		{"replies", "$schema: x\nreplies: []", true},
		{"replies", "reply: []", false},
		{"replies", "replies: [{agent: a}]", false},
		{"replies", "replies: [{text: a, json: 1}]", false},
		{"replies", "replies: [{error: {code: x}, text: a}]", false},
		{"replies", "replies: [{error: {message: x}}]", false},
		{"replies", "replies: [{text: a, times: 0}]", false},
		{"replies", "replies: [{text: a, times: never}]", false},
		{"replies", "replies: [{text: a, stopReason: tired}]", false},
		{"replies", "replies: [{toolCalls: []}]", false},
		{"replies", "replies: [{toolCalls: [{arguments: {}}]}]", false},
		{"replies", "replies: [{text: a, usage: {tokens: 1}}]", false},
		{"replies", "replies: [{text: a, delayMs: -1}]", false},
		{"tools", "toolsets: [{type: todo}, {type: mcp, command: x}]", true},
		{"tools", "$schema: x\ntoolsets: []", true},
		{"tools", "toolset: []", false},
		{"tools", "toolsets: [{name: x}]", false},
		{"tools", "toolsets: [{type: mcp, command: x, comand: y}]", false},
		{"tools", "toolsets: {type: todo}", false},
	} {
		root, _ := source.Parse("f", []byte(x.text))
		violations := compiled(t, x.kind).Validate(root.JSON())
		var problems diag.List
		if x.kind == "replies" {
			_, problems = script.Parse("f", []byte(x.text))
		} else {
			_, problems = tool.ParseToolsFile("f", []byte(x.text))
		}
		if problems.HasErrors() == x.ok || (len(violations) == 0) != x.ok {
			t.Errorf("%s\nreader: %v\nschema: %v", x.text, problems, violations)
		}
	}
}

// TestExamplesNameTheirSchema checks that each YAML document of the examples names its schema for
// editors, and that agents, tools files and reply scripts validate.
func TestExamplesNameTheirSchema(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/*/*.yaml")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := map[string]string{"replies.yaml": "replies", "offline.yaml": "replies", "tools.yaml": "tools",
			"agents.yaml": "agents", "hocket.yaml": "config"}[filepath.Base(file)]
		if kind == "" {
			kind = format.Steps
		}
		if first, _, _ := strings.Cut(string(data), "\n"); first != docschema.Comment(kind) {
			t.Errorf("%s begins with %q, want %q", file, first, docschema.Comment(kind))
		}
		root, _ := source.Parse(file, data)
		if root == nil {
			t.Errorf("%s cannot be read", file)
			continue
		}
		if v := compiled(t, kind).Validate(root.JSON()); len(v) > 0 {
			t.Errorf("%s: %s", file, schema.Describe(v))
		}
	}
}

// TestSchemas_KeysKnownToReader checks that the reader knows each key of a schema, and that each
// key has a description or a form. In the other direction, the keys come from the readers' own
// tables.
func TestSchemas_KeysKnownToReader(t *testing.T) {
	t.Parallel()
	for _, name := range docschema.Names() {
		raw, err := docschema.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
			ID         string                     `json:"$id"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			t.Fatal(err)
		}
		if s.ID != docschema.ID(name) {
			t.Errorf("%s has the id %q", name, s.ID)
		}
		if !slices.Contains(format.Names(), name) {
			continue
		}
		doc := map[string]any{}
		for key := range s.Properties {
			doc[key] = nil
		}
		text, _ := json.Marshal(doc)
		_, problems := format.Read("f", text, format.Options{Format: name})
		for _, d := range problems {
			if d.Code == "unknown-key" {
				t.Errorf("the schema %s has a key that its reader does not know: %s", name, d.Message)
			}
		}
	}
}
