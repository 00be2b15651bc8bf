package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

var (
	workflowID = []prop{
		opt("id", aText, "The id of the workflow, as create_workflow or list_workflows returned it. Required."),
		opt("workflowId", aText, "Alias of id."),
	}
	aNode = `{"type":"object","properties":{"id":{"type":"string","description":"Any unique id; edges refer to ` +
		`it."},"type":{"type":"string","description":"Always \"agent\"."},"name":{"type":"string","description":"The ` +
		`display name of the node; optional."},` +
		`"config":{"type":"object","properties":{"agentId":{"type":"string","description":"The id of the agent that ` +
		`this node runs, as create_agent returned it."}}}}}`
	anEdge = `{"type":"object","properties":{"id":{"type":"string","description":"Any unique ` +
		`id."},"from":{"type":"string","description":"The id of a node."},"to":{"type":"string","description":"The ` +
		`id of the node that runs next."}}}`
	// graphProps are the properties of the main graph and of branches of a rounds document.
	graphProps = []prop{
		opt("nodes", `{"type":"array","items":`+aNode+`}`,
			`ALL nodes; the run begins with the first, unless edges lead to it and exactly one node has none. `+
				`Example: [{"id": "a1", "type": "agent", "config": {"agentId": `+
				`"writer"}}]`),
		opt("edges", `{"type":"array","items":`+anEdge+`}`,
			`ALL edges. From each node the first edge is followed, and the node it leads to gets the output as its `+
				`input. Example: [{"id": "e1", "from": "a1", "to": "a2"}]`),
		opt("maxRounds", nullableType("integer"),
			"The number of full cycles of a loop. Required, and at least 1, when the "+
				"edges form a cycle; A -> B -> A with 10 runs each agent 10 times."),
		opt("executionMode", nullableType("string"),
			"one_time (the default: runs when it is started), interval (runs on "+
				"`schedule`) or continuous (runs repeatedly)."),
		opt("schedule", `{"type":["string","integer","null"]}`,
			`For interval: seconds such as "60", "daily@09:00", or "weekly@1,3,5" (0 is Sunday). For continuous: `+
				`seconds between two runs; optional.`),
		opt("timeZone", nullableType("string"), "The time zone of a calendar schedule, such as Europe/Berlin."),
		opt("turnInstruction", nullableType("string"), "Text that is added before the input of each agent."),
		opt("context", nullableType("string"),
			"What an agent is sent: turns (the default: the recent turns and the previous output) or previous (the "+
				"previous output alone)."),
	}
	workflowOut = closedObject(
		req("id", aText, ""), req("name", aText, ""),
		req("format", aText, "The language of the document: "+strings.Join(format.Names(), ", ")+"."),
		req("version", aCount,
			"The number of the published version; 0 if another program wrote the rows, or if there is only a draft."),
		opt("draft", aCount, "The number of the draft, if there is one."),
		req("etag", aText, "Differs after every change of the document."),
		opt("document", aMap, "The stored document. For a rounds document: nodes, edges, maxRounds, branches …"),
		opt("truncated", aText, "The place of the document, if it is too long for this result."),
		opt("inputs", aMap,
			"JSON Schema of the named inputs that execute_workflow takes as its input; absent: the input is a text."),
		opt("diagnostics", findings, "Current problems of the document, such as agents that do not exist."),
	)
)

// workflowResult is the result of the tools for one workflow.
type workflowResult struct {
	ID          string          `json:"id"`
	Name        string          `json:"name"`
	Format      string          `json:"format"`
	Version     int             `json:"version"`
	Draft       int             `json:"draft,omitempty"`
	ETag        string          `json:"etag"`
	Document    json.RawMessage `json:"document,omitempty"`
	Truncated   string          `json:"truncated,omitempty"`
	Inputs      json.RawMessage `json:"inputs,omitempty"`
	Diagnostics []finding       `json:"diagnostics,omitempty"`
}

func workflowTools() []*tool {
	branch := slices.Concat([]prop{req("id", aText, "Any unique id; execute_workflow takes it as branchId.")},
		graphProps)
	return []*tool{
		{
			name: "create_workflow", title: "Create a workflow", role: access.RoleEdit, effect: adds,
			about: "Stores an empty workflow with a name and returns its id. Then add nodes, edges and maxRounds " +
				"with update_workflow. " +
				`Example: {"name": "Writer and critic"}`,
			takes: []prop{
				req("name", aText, "The display name of the workflow."),
				opt("id", aText, "An id of your choice; omit it to derive one from the name. It must be new: the "+
					"code conflict means that it is taken."),
				opt("description", aText, "The purpose of the workflow in one sentence."),
			},
			gives: workflowOut, do: createWorkflow,
		},
		{
			name: "update_workflow", title: "Change a workflow", role: access.RoleEdit, effect: changes,
			about: "Replaces exactly the parts that are given and keeps all others: to add a node, call get_workflow " +
				"first and send its nodes with the new one, and all edges. null removes a part. " +
				"The result is checked: if it has errors, nothing is stored, and the error lists each problem with " +
				"its place and a hint. " +
				`Example, two agents that answer each other for 10 rounds: {"id": "ID", "nodes": [{"id": "a1", ` +
				`"type": "agent", "config": {"agentId": "AGENT-1"}}, {"id": "a2", "type": "agent", "config": ` +
				`{"agentId": "AGENT-2"}}], ` +
				`"edges": [{"id": "e1", "from": "a1", "to": "a2"}, {"id": "e2", "from": "a2", "to": "a1"}], ` +
				`"maxRounds": 10}. ` +
				"Instead of parts, `document` replaces the whole workflow by a document in any format: " +
				strings.Join(format.Names(), ", ") + ".",
			takes: slices.Concat(workflowID, []prop{opt("name", aText, "The display name of the workflow."),
				opt("description", nullableType("string"), "The purpose of the workflow.")}, graphProps, []prop{
				opt("branches", `{"type":["array","null"],"items":`+string(extensible(branch...))+`}`,
					"ALL branches: graphs in addition to the main one, each with an id, nodes, edges, maxRounds, "+
						"executionMode and schedule of its own. execute_workflow runs one by branchId."),
				opt("agents", `{"type":["array","null"],"items":{"type":"object"}}`,
					"Agents inside the document, for this workflow only; usually agents are created with "+
						"create_agent."),
				opt("document", `{"type":["object","string"]}`,
					"Instead of parts: a whole document, as a JSON object or as YAML or JSON text."),
				opt("format", oneOf(format.Names()...), "The format of `document`; omit it to have it detected."),
				allowUnknown,
				etagProp, opt("version", aCount, "The version that get_workflow returned: like etag."),
			}),
			gives: workflowOut, do: updateWorkflow,
		},
		{
			name: "get_workflow", title: "Show a workflow", role: access.RoleRun, effect: reads,
			about: "Returns the published document of a workflow (nodes, edges, maxRounds, branches …), its version " +
				"and etag, and its current problems. get_agent returns agents.",
			takes: workflowID, gives: workflowOut, do: getWorkflow,
		},
		{
			name: "list_workflows", title: "List workflows", role: access.RoleRun, effect: reads,
			about: `Lists the stored workflows by id. Example, those of a team: {"labels": ["team=news"]}`,
			do:    listWorkflows,
			takes: slices.Concat(
				[]prop{opt("labels", texts, "Only workflows with these labels: key=value, key!=value, key, !key.")},
				pageProps),
			gives: closedObject(
				req("workflows", list(closedObject(
					req("id", aText, ""), req("name", aText, ""), req("format", aText, ""), req("version", aCount,
						"0: nothing is published."), opt("draft", aCount, ""), opt("updatedAt", aText, ""),
					opt("labels", aMap, "Labels of the document, which its runs have too."),
				)), ""),
				opt("next", aText, "The cursor of the next page; absent on the last one."),
			),
		},
		{
			name: "validate_workflow", title: "Validate a workflow", role: access.RoleRun, effect: reads,
			about: "Validates a stored workflow by id, or a document that is not stored, and changes nothing: every " +
				"problem has its place and often a hint. Use it before update_workflow with a whole document, or to " +
				"find why a workflow cannot run.",
			takes: slices.Concat([]prop{opt("id", aText, "The id of a stored workflow."), workflowID[1]}, []prop{
				opt("document", `{"type":["object","string"]}`,
					"Instead of id: a document as a JSON object, or as YAML or JSON text."),
				opt("format", oneOf(format.Names()...), "The format of `document`; omit it to have it detected."),
				allowUnknown,
			}),
			gives: closedObject(
				req("valid", aFlag, "There are no errors: the workflow can run."),
				req("format", aText, "Empty: not recognized."), opt("id", aText, ""), opt("name", aText, ""),
				req("nodes", aCount, "The number of nodes of the main graph."), req("branches", aCount, ""),
				req("diagnostics", findings, ""),
			),
			do: validateWorkflow,
		},
		{
			name: "delete_workflow", title: "Delete a workflow", role: access.RoleEdit, effect: removes,
			about: "Deletes a stored workflow with all its versions for good. Its runs are kept, with their " +
				"definitions.",
			takes: workflowID, gives: closedObject(req("id", aText, ""), req("deleted", aFlag, "")), do: deleteWorkflow,
		},
	}
}

func createWorkflow(ctx context.Context, c *call) (any, error) {
	var args struct{ Name, ID, Description string }
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	if strings.TrimSpace(args.Name) == "" {
		return nil, service.Refuse(errcode.InvalidArgument,
			errcode.Fields{"argument": "name", "problem": "must not be empty"}, nil)
	}
	return retryOnConflict("", func() (any, error) {
		entries, err := c.Service.Entries(ctx)
		if err != nil {
			return nil, err
		}
		taken := func(id string) bool {
			return slices.ContainsFunc(entries, func(e catalog.Entry) bool { return e.ID == id })
		}
		if args.ID != "" && taken(args.ID) {
			return nil,
				&conflictError{"the workflow " + args.ID +
					" exists; change it with update_workflow, or choose another id"}
		}
		id := cmp.Or(args.ID, newID(args.Name, "workflow", taken))
		doc := members{{"id", encode(id)}, {"name", encode(args.Name)}}
		if args.Description != "" {
			doc = append(doc, member{"description", encode(args.Description)})
		}
		doc = append(doc, member{"nodes", json.RawMessage("[]")}, member{"edges", json.RawMessage("[]")})
		return c.storeWorkflow(ctx, service.ApplyRequest{ID: id, Expect: catalog.TagAbsent,
			LoadOptions: service.LoadOptions{Format: format.Rounds}}, indented(doc.json()), "workflows.create")
	})
}

// allowUnknown is an argument of the tools that read a document.
var allowUnknown = opt("allowUnknown", aFlag,
	"true: unknown keys and toolset types are warnings. Otherwise misspellings of known ones are errors.")

// updateArgs are the arguments of update_workflow that are not part of the document.
type updateArgs struct {
	workflowArgs
	Document     json.RawMessage `json:"document"`
	Format       string          `json:"format"`
	AllowUnknown bool            `json:"allowUnknown"`
	ETag         string          `json:"etag"`
	Version      *int            `json:"version"`
}

func updateWorkflow(ctx context.Context, c *call) (any, error) {
	var args updateArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	given, err := membersOf(c.req.Params.Arguments)
	if err != nil {
		return nil, err
	}
	parts := given.without("id", "workflowId", "document", "format", "allowUnknown", "etag", "version")
	switch {
	case args.Document != nil && len(parts) > 0:
		return nil, service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": "document",
			"problem": "replaces the whole workflow, and excludes " + parts[0].key}, nil)
	case args.Document == nil && args.Format != "":
		return nil, service.Refuse(errcode.InvalidArgument,
			errcode.Fields{"argument": "format", "problem": "is the format of `document`, which is missing"}, nil)
	case args.Document == nil && len(parts) == 0:
		return nil, service.Refuse(errcode.NothingToChange, nil, nil)
	}
	return retryOnConflict(args.ETag, func() (any, error) { return c.change(ctx, id, args, parts) })
}

// change stores a changed workflow: a whole new document, or the current one with some parts
// replaced.
func (c *call) change(ctx context.Context, id string, args updateArgs, parts members) (any, error) {
	now, err := c.Service.Definition(ctx, id, service.Which{})
	// a whole document also repairs a workflow with only a draft
	if isWhole := args.Document != nil && now.Entry.ID != ""; err != nil && !isWhole {
		return nil, err
	}
	if err := sameTag(args.ETag, now.Tag, "workflow "+id); err != nil {
		return nil, err
	}
	if args.Version != nil && *args.Version != now.Version {
		return nil,
			&conflictError{"workflow " + id + " was changed by another client; read it again with get_workflow and " +
				"repeat the change"}
	}
	q := service.ApplyRequest{ID: id, Expect: now.Tag, LoadOptions: service.LoadOptions{Format: args.Format,
		AllowUnknown: args.AllowUnknown}}
	if args.Document != nil {
		text := document(args.Document)
		if own := ownID(text); own != "" && own != id {
			return nil, service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": "document",
				"problem": fmt.Sprintf("its id is %q, but the workflow to change is %q", own, id)}, nil)
		}
		return c.storeWorkflow(ctx, q, text, "workflows.update")
	}
	if now.Format != format.Rounds {
		return nil, service.Refuse(errcode.WorkflowWithoutParts, errcode.Fields{"id": id, "format": now.Format}, nil)
	}
	doc, err := membersOf(now.Text)
	if err != nil {
		return nil, err
	}
	for _, m := range parts {
		doc = doc.with(m)
	}
	q.Format = format.Rounds
	return c.storeWorkflow(ctx, q, indented(doc.json()), "workflows.update")
}

// document returns the text of a document that was passed as a string or as an object.
func document(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	root, _ := source.Parse("document", raw)
	if root == nil {
		return raw
	}
	return indented(root.JSON())
}

// ownID returns the id in a document, or "" if it has none or cannot be read.
func ownID(text []byte) string {
	root, _ := source.Parse("document", text)
	if id := root.Get("id"); id.IsScalar() {
		return id.Text
	}
	return ""
}

// storeWorkflow checks, stores and publishes a document.
func (c *call) storeWorkflow(ctx context.Context, q service.ApplyRequest, text []byte, action string) (any, error) {
	id := q.ID
	q.Documents = []service.Document{{File: id, Data: text}}
	_, problems, err := c.Service.Apply(ctx, q)
	if err == nil {
		err = refused(problems)
	}
	if err != nil {
		return nil, err
	}
	c.recordChange(action, id)
	d, err := c.Service.Definition(ctx, id, service.Which{})
	if err != nil {
		return nil, err
	}
	return workflowShown(d, problems), nil
}

func workflowShown(d service.Definition, problems diag.List) workflowResult {
	out := workflowResult{
		ID: d.Entry.ID, Name: d.Entry.Name, Format: d.Format, Version: d.Version, Draft: d.Entry.Draft, ETag: d.Tag,
		Diagnostics: findingsOf(problems),
	}
	if len(d.Text) > maxDocument {
		out.Truncated = "the document has " + bytesText(len(d.Text)) + "; read the resource " + workflowURI(d.Entry.ID)
	} else if root, _ := source.Parse(d.File, d.Text); root != nil {
		out.Document = root.JSON()
	}
	return out
}

func getWorkflow(ctx context.Context, c *call) (any, error) {
	var args workflowArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	e, err := c.Service.VisibleEntry(ctx, id, c.SeesDrafts())
	if err != nil {
		return nil, err
	}
	w, d, problems, err := c.Service.LoadStored(ctx, id, service.Which{}, service.LoadOptions{})
	if err != nil {
		return nil, err
	}
	d.Entry.Draft = e.Draft
	out := workflowShown(d, problems)
	if w != nil {
		out.Inputs = form.Schema(w.Inputs)
	}
	return out, nil
}

// workflowLine is an entry of list_workflows.
type workflowLine struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Format    string     `json:"format"`
	Version   int        `json:"version"`
	Draft     int        `json:"draft,omitempty"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`

	Labels workflow.Labels `json:"labels,omitempty"`
}

func workflowLineOf(e catalog.Entry) workflowLine {
	l := workflowLine{ID: e.ID, Name: e.Name, Format: e.Format, Version: e.Published, Draft: e.Draft, Labels: e.Labels}
	if !e.Updated.IsZero() {
		l.UpdatedAt = &e.Updated
	}
	return l
}

func listWorkflows(ctx context.Context, c *call) (any, error) {
	var args struct {
		page

		Labels []string `json:"labels"`
	}
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	by, err := service.ParseLabels(args.Labels)
	if err != nil {
		return nil, err
	}
	entries, err := c.Service.Visible(ctx, c.SeesDrafts())
	if err != nil {
		return nil, err
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(e catalog.Entry) bool {
		return !journal.Selected(by, e.Labels)
	})
	entries, next := pageAfter(args.page, entries, func(e catalog.Entry) string { return e.ID })
	out := struct {
		Workflows []workflowLine `json:"workflows"`
		Next      string         `json:"next,omitempty"`
	}{[]workflowLine{}, next}
	for _, e := range entries {
		out.Workflows = append(out.Workflows, workflowLineOf(e))
	}
	return out, nil
}

func validateWorkflow(ctx context.Context, c *call) (any, error) {
	var args updateArgs
	if err := c.decode(&args); err != nil {
		return nil, err
	}
	out := struct {
		Valid       bool      `json:"valid"`
		Format      string    `json:"format"`
		ID          string    `json:"id,omitempty"`
		Name        string    `json:"name,omitempty"`
		Nodes       int       `json:"nodes"`
		Branches    int       `json:"branches"`
		Diagnostics []finding `json:"diagnostics"`
	}{}
	load := func() (w *workflow.Workflow, list diag.List, err error) {
		if args.Document != nil {
			return c.Service.Load(ctx, "document", document(args.Document),
				service.LoadOptions{Format: args.Format, AllowUnknown: args.AllowUnknown, Retired: true})
		}
		id, err := args.id()
		if err != nil {
			return nil, nil, service.Refuse(errcode.InvalidArgument, errcode.Fields{"argument": "id",
				"problem": "missing; give the id of a stored workflow, or a document"}, nil)
		}
		if _, err := c.Service.VisibleEntry(ctx, id, c.SeesDrafts()); err != nil {
			return nil, nil, err
		}
		w, _, list, err = c.Service.LoadStored(ctx, id, service.Which{}, service.LoadOptions{Retired: true})
		return w, list, err
	}
	w, problems, err := load()
	if err != nil {
		return nil, err
	}
	out.Diagnostics = findingsOf(problems)
	if out.Valid = w != nil && !problems.HasErrors(); w != nil {
		out.Format, out.ID, out.Name, out.Nodes, out.Branches = w.Format, w.ID, w.Name, len(w.Nodes), len(w.Branches)
	}
	return out, nil
}

func deleteWorkflow(ctx context.Context, c *call) (any, error) {
	var args workflowArgs
	id, err := c.decodeID(&args)
	if err != nil {
		return nil, err
	}
	if err := c.Service.DeleteWorkflow(ctx, id); err != nil {
		return nil, err
	}
	c.recordChange("workflows.delete", id)
	return deleted{id, true}, nil
}
