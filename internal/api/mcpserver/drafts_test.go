package mcpserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/service"
)

// TestDraftsByRole checks that with the role run no tool, resource or completion reveals a draft or
// a workflow that has only a draft, and that with edit they do (ADR 27).
func TestDraftsByRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{}, echoModel)
	doc := func(text string) []service.Document {
		return []service.Document{
			{File: "d.yaml", Data: []byte("agents:\n  poet: {model: openai/fake, instruction: " + text +
				"}\nworkflow:\n  - {type: agent, name: poet}\n")},
		}
	}
	s := w.service(access.DefaultNamespace)
	for _, q := range []service.ApplyRequest{{ID: "poem", Documents: doc("Write.")}, {ID: "poem",
		Documents: doc("DRAFTED."), Draft: true}, {ID: "poems", Documents: doc("DRAFTED."), Draft: true}} {
		if _, _, err := s.Apply(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	labelled := doc("Write.")
	labelled[0].Data = append([]byte("labels: {team: news}\n"), labelled[0].Data...)
	if _, _, err := s.Apply(t.Context(), service.ApplyRequest{ID: "post", Documents: labelled}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		role access.Role
		sees bool
	}{{access.RoleRun, false}, {access.RoleEdit, true}} {
		c := w.connect(w.token(tc.role, false), nil)
		list, err := json.Marshal(c.mustCall("list_workflows", object{}))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(list), `"poems"`) &&
			strings.Contains(string(list), `"draft":2`); got != tc.sees {
			t.Errorf("%s: the list is %s", tc.role, list)
		}
		if list, err = json.Marshal(c.mustCall("list_workflows", object{"labels": []string{"team=news"}})); err !=
			nil ||
			!strings.Contains(string(list), `"post"`) || !strings.Contains(string(list), `"labels":{"team":"news"}`) ||
			strings.Contains(string(list), `"poem`) {
			t.Errorf("%s: the list of a label is %s, %v", tc.role, list, err)
		}
		c.mustFail("invalid", "list_workflows", object{"labels": []string{"a b"}})
		if _, got := c.mustCall("get_workflow", object{"id": "poem"})["draft"]; got != tc.sees {
			t.Errorf("%s: get_workflow tells of the draft: %t", tc.role, got)
		}
		code := map[bool]string{true: "invalid", false: "not_found"}[tc.sees]
		c.mustFail(code, "get_workflow", object{"id": "poems"})
		c.mustFail(code, "execute_workflow", object{"id": "poems", "input": "x"})
		c.mustFail(code, "validate_workflow", object{"id": "poems"})
		c.mustCall("validate_workflow", object{"id": "poem"})
		if res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hocket://workflows/poems"}); err ==
			nil || !tc.sees && strings.Contains(err.Error(), "draft") {
			t.Errorf("%s: the resource of a draft: %v, %v", tc.role, res, err)
		}
		res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hocket://workflows"})
		if err != nil || strings.Contains(res.Contents[0].Text, `"poems"`) != tc.sees {
			t.Errorf("%s: the resource of all: %v, %v", tc.role, res, err)
		}
		all, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		named := false
		for _, r := range all.Resources {
			named = named || r.Name == "poems"
		}
		done, err := c.Complete(t.Context(), &sdk.CompleteParams{
			Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: "hocket://workflows/{id}"},
			Argument: sdk.CompleteParamsArgument{Name: "id", Value: "poem"},
		})
		if err != nil || named != tc.sees || (len(done.Completion.Values) == 2) != tc.sees {
			t.Errorf("%s: resources name the draft: %t, completions %v, %v", tc.role, named, done, err)
		}
	}
}
