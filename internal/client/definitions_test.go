package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/service"
)

// TestEntries checks that all pages are read, and that an id that is not among the entries is
// reported as not found, with a suggestion.
func TestEntries(t *testing.T) {
	t.Parallel()
	r := at(t, func(w http.ResponseWriter, req *http.Request) {
		first := req.URL.Query().Get("cursor") == ""
		id, next := "newsroom", ""
		if first {
			id, next = "letters", "more"
		}
		fmt.Fprintf(w,
			`{"items":[{"id":%q,"name":"N","format":"steps","published":2,"draft":null,"hasRows":false,`+
				`"updatedAt":"2026-01-01T00:00:00.000001Z"}],"next":%q}`, id, next)
	})
	entries, err := r.Entries(t.Context())
	if err != nil || len(entries) != 2 || entries[1].ID != "newsroom" || entries[1].Published != 2 ||
		entries[1].Draft != 0 || entries[1].Updated.Nanosecond() != 1000 {
		t.Errorf("entries %+v, %v", entries, err)
	}
	if _, err := r.Entry(t.Context(), "newsrom"); !errors.Is(err, catalog.ErrNotFound) ||
		err.Error() != `Workflow not found: newsrom; did you mean "newsroom"?` {
		t.Errorf("error %v", err)
	}
}

// TestDefinitionProblems checks that problems of documents are not errors, and that all other
// errors belong to the same family as with a local store.
func TestDefinitionProblems(t *testing.T) {
	t.Parallel()
	var sent []string
	r := at(t, func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		sent = append(sent, req.Method+" "+req.URL.Path+" "+string(body))
		switch {
		case req.Method == http.MethodDelete:
			w.WriteHeader(http.StatusConflict)
			fmt.Fprint(w,
				`{"title":"Something else is in the `+
					`way","status":409,"code":"conflict","reason":"agent-in-use","detail":"agent desk is used by `+
					`stored workflows: lobby"}`)
		case strings.Contains(string(body), "bad.yaml"):
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w,
				`{"title":"Not `+
					`acceptable","status":422,"code":"invalid","diagnostics":[{"code":"x","severity":"error",`+
					`"span":{"file":"bad.yaml","start":{"line":3,"column":4}},"message":"no"}]}`)
		default:
			fmt.Fprint(w,
				`{"workflows":[{"id":"w","name":"","format":"steps","published":null,"draft":4,"hasRows":false,`+
					`"updatedAt":null,"version":4,"unchanged":false}],"agents":["desk"],"diagnostics":[{"code":"x",`+
					`"severity":"warning","span":{"start":{"line":0,"column":0}},"message":"hm"}]}`)
		}
	})
	ctx := t.Context()
	if err := r.DeleteAgent(ctx, "desk", false); !errors.Is(err, service.ErrInUse) ||
		err.Error() != "agent desk is used by stored workflows: lobby" {
		t.Errorf("error %v", err)
	}
	apply := func(file, text string) service.ApplyRequest {
		return service.ApplyRequest{Documents: []service.Document{{File: file, Data: []byte(text)}}, Draft: true,
			LoadOptions: service.LoadOptions{AgentsFile: "-", Stdin: strings.NewReader("[]")}}
	}
	if _, problems, err := r.Apply(ctx, apply("bad.yaml", "a")); err != nil || len(problems) != 1 ||
		problems[0].String() != "bad.yaml:3:4: error: no (x)" {
		t.Errorf("problems %v, error %v", problems, err)
	}
	done, problems, err := r.Apply(ctx, apply("w.yaml", "b"))
	if err != nil || len(problems) != 1 || problems.HasErrors() || len(done.Workflows) != 1 ||
		done.Workflows[0].Entry.Draft != 4 || done.Workflows[0].Version != 4 ||
		strings.Join(done.Agents, "") != "desk" {
		t.Errorf("done %+v, problems %v, error %v", done, problems, err)
	}
	want := `POST /api/v1/workflows/apply ` +
		`{"agents":{"document":"[]","file":"-"},"documents":[{"document":"b","file":"w.yaml"}],"draft":true}`
	if got := sent[len(sent)-1]; strings.TrimSpace(got) != want {
		t.Errorf("sent %s", got)
	}
	before := len(sent)
	if _, problems, err := r.Apply(ctx, apply("latin.yaml", "a: \xe9\n")); err != nil || !problems.HasErrors() ||
		len(sent) != before {
		t.Errorf("a text that JSON cannot hold: problems %v, error %v, %d requests", problems, err, len(sent)-before)
	}
	if _, problems, err := r.ApplyAgents(ctx,
		service.ApplyAgentsRequest{
			Documents: []service.Document{{File: "latin.yaml", Data: []byte("- \xe9\n")}},
		}); err != nil || !problems.HasErrors() || len(sent) != before {
		t.Errorf("a list that JSON cannot hold: problems %v, error %v, %d requests", problems, err, len(sent)-before)
	}
}
