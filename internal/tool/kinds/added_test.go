package kinds_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/docschema"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// telescope is a toolset type that exists only in this test program and is listed nowhere else.
var telescope = kinds.Kind{
	Name: "telescope", Keys: []string{"aperture", "atlas"}, Tools: []string{"observe_star"}, Path: "atlas",
	Check: func(options map[string]any) []kinds.Problem {
		if options["aperture"] == "wide" {
			return []kinds.Problem{{Key: "aperture", Message: "aperture must be a number", Hint: "write centimetres"}}
		}
		if len(options) == 0 {
			return []kinds.Problem{{Message: "a telescope needs an aperture or an atlas"}}
		}
		return nil
	},
	Local: func(options []byte, at kinds.At) (kinds.Local, error) {
		var o struct{ Atlas string }
		if err := json.Unmarshal(options, &o); err != nil || o.Atlas == "" {
			return kinds.Local{}, err
		}
		return kinds.Local{Lines: []string{"read the atlas " + at(o.Atlas)}, Programs: kinds.Programs{File: o.Atlas}},
			nil
	},
	How: "toolset in a document; needs a clear sky", Gives: "stars", Wants: "for planets",
	Page: "toolsets/telescope.md",
}

func TestMain(m *testing.M) {
	kinds.Register(telescope)
	os.Exit(m.Run())
}

func TestAddedType_Parse(t *testing.T) {
	specs, list := tool.ParseToolsFile("tools.yaml",
		[]byte("toolsets:\n  - {type: telescope, name: eye, aperture: 8}\n"))
	if len(list) > 0 || len(specs) != 1 || string(specs[0].Options) != `{"aperture":8}` {
		t.Fatalf("specs %+v, problems %v", specs, list)
	}
	if names, ok := tool.Offers(specs[0]); !ok || !slices.Equal(names, telescope.Tools) {
		t.Errorf("Offers = %v, %v; want %v", names, ok, telescope.Tools)
	}
	_, list = tool.ParseToolsFile("tools.yaml", []byte("toolsets:\n  - {type: telescope, apertur: 8}\n"))
	if len(list) != 1 || list[0].Code != "unknown-key" || list[0].Hint != `did you mean "aperture"?` {
		t.Errorf("a misspelled key gives %v", list)
	}
	_, list = tool.ParseToolsFile("tools.yaml", []byte("toolsets:\n  - {type: telescop}\n"))
	if len(list) != 1 || list[0].Hint != `did you mean "telescope"?` {
		t.Errorf("a misspelled type gives %v", list)
	}
}

// TestAddedType_Options checks that a problem that a type finds is reported at the option.
func TestAddedType_Options(t *testing.T) {
	for options, want := range map[string]string{
		"aperture: wide": "tools.yaml:2:33: error: aperture must be a number (bad-value); hint: write centimetres",
		"name: eye":      "tools.yaml:2:5: error: a telescope needs an aperture or an atlas (bad-value)",
		"atlas: north":   "",
	} {
		_, list := tool.ParseToolsFile("tools.yaml", []byte("toolsets:\n  - {type: telescope, "+options+"}\n"))
		if list.Error() != want && (want != "" || len(list) > 0) {
			t.Errorf("%s gives %v, want %s", options, list, want)
		}
	}
}

// TestAddedType_Trust checks that what a type reaches on the machine is shown, and needs trust
// (SEC5).
func TestAddedType_Trust(t *testing.T) {
	for options, want := range map[string][]string{
		`{"aperture":8}`:    nil,
		`{"atlas":"north"}`: {"read the atlas " + filepath.Join("sky", "north") + " (toolset telescope)"},
		`{"atlas":7}`:       {`use these options: {"atlas":7} (toolset telescope)`},
	} {
		spec := tool.Spec{Type: "telescope", Options: json.RawMessage(options)}
		if got := tool.Access([]tool.Spec{spec}, "sky"); !slices.Equal(got, want) {
			t.Errorf("%s reaches %q, want %q", options, got, want)
		}
		if err := spec.CheckTrusted(); (err != nil) != (want != nil) {
			t.Errorf("%s without trust: %v", options, err)
		}
	}
	if got := (tool.Spec{Type: "telescope", Options: json.RawMessage(`{"atlas":"north"}`)}).Programs(); got.File !=
		"north" {
		t.Errorf("programs %+v", got)
	}
}

func TestAddedType_Formats(t *testing.T) {
	read := func(typ string) diag.List {
		doc := "agents:\n  astronomer:\n    model: openai/gpt-6.1-terra\n    instruction: Look.\n    toolsets: " +
			"[{type: " + typ + ", aperture: 8}]\nworkflow:\n  - {type: agent, name: astronomer}\n"
		_, list, err := service.Load(t.Context(), "sky.yaml", []byte(doc),
			service.LoadOptions{Formats: linked.Kit().Formats, Format: format.Steps})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := read("telescope"); len(list) > 0 {
		t.Errorf("a document that names the type has problems: %v", list)
	}
	meant := func(d diag.Diagnostic) bool { return d.Hint == `did you mean "telescope"?` }
	if list := read("telescop"); !slices.ContainsFunc(list, meant) {
		t.Errorf("a misspelled type gives %v", list)
	}
	if !slices.Contains(agents.ToolsetTypes(), "telescope") {
		t.Errorf("types of agents: %v", agents.ToolsetTypes())
	}
}

// TestAddedType_Completion checks that the schemas let editors complete the type and its keys.
func TestAddedType_Completion(t *testing.T) {
	for _, name := range docschema.Names() {
		schema, err := docschema.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(schema)
		if strings.Contains(text, `"user_prompt"`) != strings.Contains(text, `"telescope"`) {
			t.Errorf("schema %s lists other types, but not the added one", name)
		}
	}
	schema, err := docschema.Get("tools")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(schema, &doc); err != nil {
		t.Fatal(err)
	}
	if text := string(schema); !strings.Contains(text, `"telescope"`) || !strings.Contains(text, `"aperture"`) {
		t.Errorf("the schema of tools files lacks the type or its key")
	}
}

func TestAddedType_Unsupported(t *testing.T) {
	report := service.Diagnose(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }})
	if want := (service.ToolReport{Type: "telescope", How: telescope.How}); !slices.Contains(report.Tools, want) {
		t.Errorf("doctor lists %v", report.Tools)
	}
	if row := "| [`telescope`](toolsets/telescope.md) | stars | for planets |\n"; !strings.Contains(kinds.Table(),
		row) {
		t.Errorf("the table of the reference is\n%s", kinds.Table())
	}
}

// TestRegisteredTypes checks that the description of each type is complete, and that its page
// exists.
func TestRegisteredTypes(t *testing.T) {
	for _, k := range kinds.Supported() {
		if k.How == "" || k.Gives == "" || k.Wants == "" {
			t.Errorf("%s: How, Gives and Wants must not be empty: %+v", k.Name, k)
		}
		if !slices.IsSorted(k.Tools) {
			t.Errorf("%s: tools are not sorted: %v", k.Name, k.Tools)
		}
		page, _, _ := strings.Cut(k.Page, "#")
		if _, err := os.Stat(filepath.Join("../../../docs", page)); err != nil && k.Name != telescope.Name {
			t.Errorf("%s: %v", k.Name, err)
		}
		if k.Path != "" && !slices.Contains(k.Keys, k.Path) {
			t.Errorf("%s: the path option %q is none of its keys", k.Name, k.Path)
		}
	}
}

func TestRegisterPanics(t *testing.T) {
	for _, name := range []string{"", "mcp", "rag"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Register(%q) did not panic", name)
				}
			}()
			kinds.Register(kinds.Kind{Name: name})
		}()
	}
}
