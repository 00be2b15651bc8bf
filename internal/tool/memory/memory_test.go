package memory_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/internal/tool/memory/memorytest"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, func(*testing.T) (memory.Store, func() memory.Store) {
		s := &memory.Kept{}
		return s, func() memory.Store { return s }
	})
}

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset { t.Helper(); return open(t, &memory.Kept{}, "w", tool.Spec{}) },
		Good: tool.Call{Name: "add_memory", Arguments: json.RawMessage(`{"memory":"x"}`)},
	})
}

func open(t *testing.T, s memory.Store, workflow string, spec tool.Spec) *memory.Toolset {
	t.Helper()
	spec.Type = tool.TypeMemory
	ts, err := memory.New(memory.Config{Store: s, Owner: []string{"catalog", workflow}}, spec)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func call(t *testing.T, ts *memory.Toolset, agent, name, key, args string) tool.Result {
	t.Helper()
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			r, err := tl.Call(t.Context(),
				tool.Call{Agent: agent, Name: name, Key: key, Arguments: json.RawMessage(args)})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatalf("no tool %q", name)
	return tool.Result{}
}

// found returns the texts in a result.
func found(t *testing.T, r tool.Result) string {
	t.Helper()
	var entries []memory.Entry
	text, _, _ := strings.Cut(r.Text, "]\n")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(text, "]")+"]"), &entries); err != nil {
		t.Fatalf("%v: %s", err, r.Text)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Text)
	}
	return strings.Join(out, "|")
}

func TestCalls(t *testing.T) {
	t.Parallel()
	ts := open(t, &memory.Kept{}, "w", tool.Spec{})
	for i, s := range []struct {
		name, key, args, want string
		isError               bool
	}{
		{"add_memory", "1", `{"memory":"Likes TEA, no milk","category":"Preference"}`, "added memory 1", false},
		{"add_memory", "1", `{"memory":"Likes TEA, no milk"}`, "added memory 1", false}, // the same call again (P12)
		{"add_memory", "2", `{"memory":"Tea is at four","category":"fact"}`, "added memory 2", false},
		{"add_memory", "", `{"memory":"a"}`, "added memory 3", false},
		{"add_memory", "", `{"memory":"a"}`, "added memory 4", false},
		{"update_memory", "", `{"id":"3","memory":"b"}`, "updated memory 3", false},
		{"update_memory", "", `{"id":"9","memory":"b"}`, `memory "9" not found`, true},
		{"delete_memory", "", `{"id":"4"}`, "deleted memory 4", false},
		{"delete_memory", "", `{"id":"4"}`, `memory "4" not found`, true},
		{"add_memory", "3", `{"memory":"` + strings.Repeat("x", 16385) + `"}`,
			"the memory has 16385 bytes, more than the limit of 16384", true},
		{"add_memory", "3", `{"memory":"x","category":"` + strings.Repeat("x", 201) + `"}`,
			"the category has 201 bytes, more than the limit of 200", true},
	} {
		if r := call(t, ts, "a", s.name, s.key, s.args); r.Text != s.want || r.IsError != s.isError {
			t.Errorf("%d: %+v, want %q", i, r, s.want)
		}
	}
	for args, want := range map[string]string{
		`{}`: "Likes TEA, no milk|Tea is at four|b", `{"query":"tea"}`: "Likes TEA, no milk|Tea is at four",
		`{"query":"milk tea"}`:              "Likes TEA, no milk",
		`{"query":"tea","category":"FACT"}`: "Tea is at four", `{"query":"preference"}`: "Likes TEA, no milk",
		`{"query":"coffee"}`: "", `{"query":"%"}`: "",
	} {
		if got := found(t, call(t, ts, "a", "search_memories", "", args)); got != want {
			t.Errorf("%s found %q, want %q", args, got, want)
		}
	}
	if got := found(t, call(t, ts, "a", "get_memories", "", `{}`)); got != "Likes TEA, no milk|Tea is at four|b" {
		t.Errorf("all: %q", got)
	}
}

// TestMemory_Isolation checks that memories belong to a workflow and an agent, unless agents share
// them or name a memory; that a name is not a path (SEC16); and that no name reaches another
// owner's memory.
func TestMemory_Isolation(t *testing.T) {
	t.Parallel()
	path := func(p string) tool.Spec {
		b, err := json.Marshal(map[string]string{"path": p})
		if err != nil {
			t.Fatal(err)
		}
		return tool.Spec{Options: b}
	}
	for name, c := range map[string]struct {
		workflow [2]string
		spec     [2]tool.Spec
		agent    [2]string
		same     bool
	}{
		"later run":   {[2]string{"w", "w"}, [2]tool.Spec{}, [2]string{"a", "a"}, true},
		"other agent": {[2]string{"w", "w"}, [2]tool.Spec{}, [2]string{"a", "b"}, false},
		"shared": {[2]string{"w", "w"}, [2]tool.Spec{{Shared: true}, {Shared: true}}, [2]string{"a", "b"},
			true},
		"other workflow": {[2]string{"w", "v"}, [2]tool.Spec{{Shared: true}, {Shared: true}}, [2]string{"a", "a"},
			false},
		"other toolset": {[2]string{"w", "w"}, [2]tool.Spec{{Name: "x"}, {Name: "y"}}, [2]string{"a", "a"}, false},
		"one path": {[2]string{"w", "w"}, [2]tool.Spec{path("./m.db"), path("./m.db")}, [2]string{"a", "b"},
			true},
		"path of another": {[2]string{"w", "v"}, [2]tool.Spec{path("m"), path("../w/m")}, [2]string{"a", "a"}, false},
		"path as a toolset": {[2]string{"w", "w"}, [2]tool.Spec{{Name: "m", Shared: true}, path("m")},
			[2]string{"a", "a"}, false},
		"joined names": {[2]string{"w", "w"}, [2]tool.Spec{{Name: "x"}, {Name: `x","a`, Shared: true}},
			[2]string{"a", "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &memory.Kept{}
			call(t, open(t, s, c.workflow[0], c.spec[0]), c.agent[0], "add_memory", "k", `{"memory":"mine"}`)
			got := found(t, call(t, open(t, s, c.workflow[1], c.spec[1]), c.agent[1], "get_memories", "", `{}`))
			if (got == "mine") != c.same {
				t.Errorf("the other finds %q", got)
			}
		})
	}
	if _, err := memory.New(memory.Config{Store: &memory.Kept{}},
		tool.Spec{Type: tool.TypeMemory, Options: json.RawMessage(`{"paht":"x"}`)}); err == nil {
		t.Error("an unknown option is accepted")
	}
}

// TestSearch_ResultLimit checks that a result is limited and states what it leaves out (SEC17).
func TestSearch_ResultLimit(t *testing.T) {
	t.Parallel()
	ts := open(t, &memory.Kept{}, "w", tool.Spec{})
	for range 10 {
		call(t, ts, "a", "add_memory", "", `{"memory":"`+strings.Repeat("x", 10_000)+`"}`)
	}
	r := call(t, ts, "a", "get_memories", "", `{}`)
	if len(r.Text) > 70_000 || !strings.HasSuffix(r.Text,
		"\n4 older memories are left out, since an answer has at most 65536 bytes; search for fewer") {
		t.Errorf("%d bytes, %q", len(r.Text), r.Text[len(r.Text)-120:])
	}
}

// TestOwners checks that a memory can be reached by its owner, or, if that was allowed, under the
// name that it is shared under, and that no value of an option reaches it otherwise (SEC13, SEC16).
func TestOwners(t *testing.T) {
	t.Parallel()
	s := &memory.Kept{}
	opens := func(owner []string, spec tool.Spec) (*memory.Toolset, error) {
		spec.Type = tool.TypeMemory
		return memory.New(memory.Config{Store: s, Owner: owner}, spec)
	}
	mine, err := opens([]string{"file", "/notes.yaml"}, tool.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	call(t, mine, "a", "add_memory", "k", `{"memory":"SECRET"}`)
	shared := json.RawMessage(`{"memory":"[\"owner\",\"file\",\"/notes.yaml\",\"name\",\"memory\",\"a\"]"}`)
	for name, tc := range map[string]struct {
		owner []string
		spec  tool.Spec
	}{
		"catalog":    {[]string{"catalog", "/notes.yaml"}, tool.Spec{}},
		"other file": {[]string{"file", "/dl/notes.yaml"}, tool.Spec{}},
		"path": {[]string{"file", "/dl/notes.yaml"},
			tool.Spec{Options: json.RawMessage(`{"path":"/notes.yaml"}`)}},
		"name":             {[]string{"file", "/dl/notes.yaml"}, tool.Spec{Name: `","file","/notes.yaml`}},
		"shared":           {[]string{"file", "/dl/notes.yaml"}, tool.Spec{Shared: true}},
		"shared by a name": {[]string{"file", "/dl/notes.yaml"}, tool.Spec{Options: shared, Trusted: true}},
	} {
		other, err := opens(tc.owner, tc.spec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := call(t, other, "a", "get_memories", "", `{}`).Text; strings.Contains(got, "SECRET") {
			t.Errorf("%s reads %s", name, got)
		}
	}
	for name, tc := range map[string]struct {
		owner []string
		spec  tool.Spec
		err   string
	}{
		"no owner":            {nil, tool.Spec{}, "no memory of its own"},
		"no owner, with path": {nil, tool.Spec{Options: json.RawMessage(`{"path":"x"}`)}, "no memory of its own"},
		"shared and untrusted": {[]string{"catalog", "x"}, tool.Spec{Options: json.RawMessage(`{"memory":"team"}`)},
			`read and write the memory "team"`},
		"both names": {[]string{"catalog", "x"}, tool.Spec{Trusted: true,
			Options: json.RawMessage(`{"memory":"team","path":"x"}`)}, "set only one of them"},
	} {
		if _, err := opens(tc.owner, tc.spec); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: got %v, want %q", name, err, tc.err)
		}
	}
}
