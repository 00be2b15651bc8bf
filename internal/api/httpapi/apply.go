package httpapi

import (
	"context"
	"net/http"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// registerApply registers the operations that store several definitions together.
func (a *API) registerApply() {
	add(a, route{
		Method: http.MethodPost, Path: "/workflows/apply", ID: "applyWorkflows", Tag: tagWorkflows,
		Role:    access.RoleEdit,
		Summary: "Store several documents, all or none",
		Description: "Each document becomes the next version of its workflow, which is created if it does not exist, " +
			"and is published unless it is a draft. If one has errors, nothing is stored, and " +
			"`diagnostics` lists the problems of all. Storing the text of a current version again creates no new " +
			"version.",
		Errors: []int{http.StatusRequestEntityTooLarge},
	}, applyWorkflows)
	add(a, route{
		Method: http.MethodPost, Path: "/agents/apply", ID: "applyAgents", Tag: tagAgents, Role: access.RoleEdit,
		Summary:     "Store the agents of several lists, all or none",
		Description: "An agent with the same id is replaced. If a list has errors, nothing is stored.",
		Errors:      []int{http.StatusRequestEntityTooLarge},
	}, applyAgents)
}

// Source is the content of a document and the name of its origin. The name is never opened as a
// file.
type Source struct {
	File     string `json:"file" minLength:"1" maxLength:"4096" doc:"File name for diagnostics and for the default id"`
	Document string `json:"document" doc:"The text, YAML or JSON; a workflow's is returned byte for byte"`
}

func documentsOf(list []Source) []service.Document {
	docs := make([]service.Document, len(list))
	for i, s := range list {
		docs[i] = service.Document{File: s.File, Data: []byte(s.Document)}
	}
	return docs
}

// Leniency specifies which problems in a document are accepted.
type Leniency struct {
	AllowUnknown bool `json:"allowUnknown,omitempty" doc:"Misspellings of keys and toolset types are only warnings"`
}

// ApplyBody lists the documents to store.
type ApplyBody struct {
	Documents []Source `json:"documents" minItems:"1" maxItems:"1000" doc:"Documents of workflows"`
	ID        string   `json:"id,omitempty" maxLength:"200" doc:"Id if the only document has none; absent: file name"`
	Format    string   `json:"format,omitempty" doc:"Language of the documents; absent: it is detected"`
	Draft     bool     `json:"draft,omitempty" doc:"Store drafts; the published versions do not change"`
	Replace   bool     `json:"replace,omitempty" doc:"Delete all rows of a routes workflow first, in one transaction"`
	Agents    *Source  `json:"agents,omitempty" doc:"Agents to store with them; those in a document take precedence"`
	Leniency
}

// Applied is the result of storing documents.
type Applied struct {
	Workflows   []AppliedWorkflow `json:"workflows" doc:"What was stored, in the order of the documents"`
	Agents      []string          `json:"agents" doc:"Ids of the agents that were stored with them"`
	Diagnostics []diag.Diagnostic `json:"diagnostics" doc:"Warnings, such as references to agents that do not exist"`
}

// AppliedWorkflow is a stored workflow and the version that its document now has.
type AppliedWorkflow struct {
	Workflow
	Version   int  `json:"version" doc:"Number of the version that has the document"`
	Unchanged bool `json:"unchanged" doc:"Nothing was stored: the document equals the current version"`
}

func applyWorkflows(ctx context.Context, c *transport.Caller, in *struct{ Body ApplyBody }) (
	*struct{ Body Applied }, error) {
	b := in.Body
	q := service.ApplyRequest{Documents: documentsOf(b.Documents), ID: b.ID, Draft: b.Draft, Replace: b.Replace}
	q.Format, q.AllowUnknown = b.Format, b.AllowUnknown
	if b.Agents != nil {
		q.AgentsFile, q.AgentsText = b.Agents.File, []byte(b.Agents.Document)
	}
	done, problems, err := c.Service.Apply(ctx, q)
	switch {
	case err != nil:
		return nil, err
	case problems.HasErrors():
		return nil, refused(problems)
	}
	out := Applied{Workflows: []AppliedWorkflow{}, Agents: append([]string{}, done.Agents...),
		Diagnostics: hintedDiagnostics(problems)}
	for _, w := range done.Workflows {
		out.Workflows = append(out.Workflows, AppliedWorkflow{workflowOf(w.Entry), w.Version, w.Unchanged})
	}
	return &struct{ Body Applied }{out}, nil
}

// ApplyAgentsBody holds lists of agents to store.
type ApplyAgentsBody struct {
	Documents []Source `json:"documents" minItems:"1" maxItems:"1000" doc:"Lists of agents"`
	Replace   bool     `json:"replace,omitempty" doc:"Delete the rows of these agents first, in one transaction"`
	Leniency
}

// AppliedAgents lists the agents that were stored.
type AppliedAgents struct {
	Agents      []string          `json:"agents" doc:"Ids of the agents, in the order of the lists"`
	Diagnostics []diag.Diagnostic `json:"diagnostics" doc:"Warnings"`
}

func applyAgents(ctx context.Context, c *transport.Caller, in *struct{ Body ApplyAgentsBody }) (
	*struct{ Body AppliedAgents }, error) {
	ids, problems, err := c.Service.ApplyAgents(ctx, service.ApplyAgentsRequest{
		Documents: documentsOf(in.Body.Documents), Replace: in.Body.Replace, AllowUnknown: in.Body.AllowUnknown,
	})
	switch {
	case err != nil:
		return nil, err
	case problems.HasErrors():
		return nil, refused(problems)
	}
	return &struct{ Body AppliedAgents }{AppliedAgents{append([]string{}, ids...), hintedDiagnostics(problems)}}, nil
}
