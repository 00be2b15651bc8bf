package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/service"
)

// arguments checks the arguments of a call as valid does, and decodes them into a struct.
func (t *tool) arguments(raw json.RawMessage, into any) error {
	raw, err := t.valid(raw)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return service.Refuse(errcode.InvalidArguments, errcode.Fields{"problems": "arguments: " + err.Error()}, err)
	}
	return nil
}

// valid checks the arguments of a call against the schema of its tool, and returns them as
// [schema.Schema.Fit] reads them. The error is a *service.InvalidError that names each field.
func (t *tool) valid(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		raw = json.RawMessage(`{}`)
	}
	raw, violations := t.accepts.Fit(raw)
	if len(violations) > 0 {
		lines := make([]string, len(violations))
		for i, v := range violations {
			lines[i] = t.violationText(v, raw)
		}
		return nil, service.Refuse(errcode.InvalidArguments, errcode.Fields{"problems": strings.Join(lines, "; ")}, nil)
	}
	return raw, nil
}

// violationText describes a schema violation in terms of the field that it is about.
func (t *tool) violationText(v schema.Violation, raw json.RawMessage) string {
	field := strings.TrimPrefix(strings.NewReplacer("~1", "/", "~0", "~").Replace(v.Path), "/")
	if field != "" {
		return fmt.Sprintf("%s: %s", strings.ReplaceAll(field, "/", "."), v.Message)
	}
	parts, known := []string{"arguments of " + t.name + ": " + v.Message}, t.fields()
	var given map[string]json.RawMessage
	if json.Unmarshal(raw, &given) == nil {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if hint := diag.DidYouMean(name, known); hint != "" && !slices.Contains(known, name) {
				parts = append(parts, hint)
			}
		}
	}
	return strings.Join(append(parts, "it takes "+strings.Join(known, ", ")), "; ")
}

// fields returns the names of the arguments in the order of the schema.
func (t *tool) fields() []string {
	var out []string
	for _, p := range t.takes {
		out = append(out, p.name)
	}
	return out
}

// workflowArgs, runArgs and agentArgs hold an id under either of its two names.
type (
	workflowArgs struct {
		ID         string `json:"id"`
		WorkflowID string `json:"workflowId"`
	}
	runArgs struct {
		ID    string `json:"id"`
		RunID string `json:"runId"`
	}
	agentArgs struct {
		ID      string `json:"id"`
		AgentID string `json:"agentId"`
	}
)

func (a workflowArgs) id() (string, error) {
	return op.ResolveAlias("id", a.ID, "workflowId", a.WorkflowID)
}
func (a runArgs) id() (string, error)   { return op.ResolveAlias("id", a.ID, "runId", a.RunID) }
func (a agentArgs) id() (string, error) { return op.ResolveAlias("id", a.ID, "agentId", a.AgentID) }

// page holds the paging arguments of lists.
type page struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// Page size limits.
const (
	defaultPage = 50
	maxPage     = 200
)

var pageProps = []prop{
	opt("limit", fmt.Sprintf(`{"type":"integer","minimum":1,"maximum":%d}`, maxPage),
		fmt.Sprintf("Maximum number of entries; default %d.", defaultPage)),
	opt("cursor", aText, "`next` of the previous page; omit it for the first page."),
}

func (p page) size() int {
	if p.Limit == 0 {
		return defaultPage
	}
	return p.Limit
}

// pageAfter returns the page of a sorted list that follows the cursor, and the cursor of the next
// page, or "" if there is none.
func pageAfter[T any](p page, all []T, id func(T) string) ([]T, string) {
	from, _ := slices.BinarySearchFunc(all, p.Cursor, func(x T, c string) int {
		if c == "" {
			return 1
		}
		return max(-1, min(1, strings.Compare(id(x), c)*2+1)) // an entry equal to the cursor comes before it
	})
	all = all[from:]
	if len(all) <= p.size() {
		return all, ""
	}
	all = all[:p.size()]
	return all, id(all[len(all)-1])
}
