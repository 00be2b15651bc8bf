package run

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// TestMemory_Origin checks that memories belong to the id in the catalog or the path of the file,
// whatever the document calls itself. A file requires approval, and a document of unknown origin
// has no memory (SEC5).
func TestMemory_Origin(t *testing.T) {
	t.Parallel()
	own := tool.Spec{Type: tool.TypeMemory}
	shared := tool.Spec{Type: tool.TypeMemory, Options: json.RawMessage(`{"memory":"team"}`)}
	odd := tool.Spec{Type: tool.TypeMemory, Options: json.RawMessage(`{"memory":7}`)}
	named := &workflow.Workflow{ID: "notes", Name: "notes"}
	for name, tc := range map[string]struct {
		q      StartRequest
		specs  []tool.Spec
		origin []string
		asks   []string
		bad    bool
	}{
		"stored": {StartRequest{Workflow: named, Stored: "notes", Version: 3}, []tool.Spec{own},
			[]string{"catalog", "notes"}, nil, false},
		"stored, beside a file": {StartRequest{Workflow: named, Stored: "notes", Version: 3, Place: "/x"},
			[]tool.Spec{own}, []string{"catalog", "notes"}, nil, false},
		"file of the same id": {StartRequest{Workflow: named, Place: "/dl/notes.yaml"}, []tool.Spec{own, own},
			[]string{"file", "/dl/notes.yaml"},
			[]string{"keep a memory across runs for /dl/notes.yaml (toolset memory)"}, false},
		"file that only shares": {StartRequest{Workflow: named, Place: "/x"}, []tool.Spec{shared},
			[]string{"file", "/x"}, nil, false},
		"agent of a Go graph": {StartRequest{Workflow: named, Graph: "g"}, []tool.Spec{own},
			[]string{"program", "g"}, nil, false},
		"request or pipe":     {StartRequest{Workflow: named}, []tool.Spec{own}, nil, nil, true},
		"request that shares": {StartRequest{Workflow: named}, []tool.Spec{shared, odd}, nil, nil, false},
		"request without memory": {StartRequest{Workflow: named}, []tool.Spec{{Type: tool.TypeThink}}, nil, nil,
			false},
		"file without a memory": {StartRequest{Workflow: named, Place: "/x"}, nil, []string{"file", "/x"}, nil,
			false},
		"file with its own, too": {StartRequest{Workflow: named, Place: "/x"}, []tool.Spec{shared, own},
			[]string{"file", "/x"}, []string{"keep a memory across runs for /x (toolset memory)"}, false},
		"options that are no JSON": {StartRequest{Workflow: named},
			[]tool.Spec{{Type: tool.TypeMemory, Options: json.RawMessage(`{`)}}, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			meta := map[string]string{}
			asks, err := tc.q.recordOrigin(tc.specs, meta)
			if _, invalid := errors.AsType[*failure.InvalidError](err); invalid != tc.bad || err != nil && !tc.bad {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(asks, tc.asks); d != "" {
				t.Errorf("asks (-got +want)\n%s", d)
			}
			var origin []string
			if text := meta[resources.MetaOrigin]; text != "" {
				if err := json.Unmarshal([]byte(text), &origin); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(origin, tc.origin); d != "" {
				t.Errorf("origin (-got +want)\n%s", d)
			}
		})
	}
	// Memories shared by several workflows, and options that cannot be parsed, require approval
	// wherever the document comes from.
	for _, s := range []tool.Spec{shared, odd} {
		if len(tool.Access([]tool.Spec{s}, "")) == 0 || tool.TrustHash([]tool.Spec{s}) == "" ||
			s.CheckTrusted() == nil {
			t.Errorf("%s is not asked about", s.Options)
		}
	}
	if a, b := tool.TrustHash([]tool.Spec{shared}),
		tool.TrustHash([]tool.Spec{{Type: tool.TypeMemory, Options: json.RawMessage(`{"memory":"other"}`)}}); a == b {
		t.Error("a yes to one shared memory is one to another")
	}
}
