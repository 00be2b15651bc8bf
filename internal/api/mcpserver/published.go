package mcpserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// offer is a published workflow that is a tool of its own.
type offer struct {
	workflow, about string
	// inputs is the JSON Schema of the named inputs; "": the input is a text.
	inputs string
}

// maxToolName bounds names of tools: clients put the server's name before them, and models take 64 bytes at most.
const maxToolName = 48

// ToolName gives the name of the tool that a workflow is. An id of letters, digits, `_` and `-` is the name itself; any other, one that is too long and one that
// is the name of a fixed tool get a suffix made of the whole id, so that no name depends on what other workflows there are.
func ToolName(id string, fixed []string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	if name == id && len(id) <= maxToolName && !slices.Contains(fixed, id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	const hash = 8
	return name[:min(len(name), maxToolName-hash-1)] + "_" + hex.EncodeToString(sum[:])[:hash]
}

// offer makes tools of the workflows that are to be tools, and takes away those that are none any more.
func (d *account) offer(ctx context.Context, entries []catalog.Entry) {
	wanted := map[string]offer{}
	var fixed []string
	for _, t := range d.server.tools {
		fixed = append(fixed, t.name)
	}
	for _, e := range entries {
		if !d.server.offers(e.ID) {
			continue
		}
		w, _, problems, err := d.key.service.LoadStored(ctx, e.ID, service.Which{}, service.LoadOptions{})
		if err != nil || w == nil || problems.HasErrors() {
			continue // it cannot run: execute_workflow says why
		}
		name := ToolName(e.ID, fixed)
		if other, ok := wanted[name]; ok {
			d.server.log.Warn("a workflow is not offered as a tool: its name is taken", "workflow", e.ID, "other", other.workflow, "tool", name)
			continue
		}
		about := cmp.Or(w.Description, "Runs the workflow "+strconv.Quote(cmp.Or(e.Name, e.ID))+".")
		wanted[name] = offer{e.ID, about, inputsOf(w)}
	}
	d.mu.Lock()
	before := d.published
	d.published = wanted
	d.mu.Unlock()
	for name := range before {
		if _, ok := wanted[name]; !ok {
			d.mcp.RemoveTools(name)
		}
	}
	for name, o := range wanted {
		if before[name] != o {
			t := offered(name, o)
			t.accepts = anyInput(name)
			d.mcp.AddTool(t.announced(), d.handler(t))
		}
	}
}

// inputsOf gives the JSON Schema of the named inputs of a workflow for its tool: that of any object where it is too large or too deep to be part of another one. The run checks them.
func inputsOf(w *workflow.Workflow) string {
	inputs := form.Schema(w.Inputs)
	if inputs == nil {
		return ""
	}
	if _, err := schema.Compile(offered("", offer{inputs: string(inputs)}).input()); err != nil {
		return aMap
	}
	return string(inputs)
}

// anyInput is the schema of what the tool of a workflow takes. What fits the inputs is decided by the run, as at every door: a text may be what it is read as.
func anyInput(name string) *schema.Schema {
	t := offered(name, offer{})
	t.compile()
	return t.accepts
}

// offers tells whether a workflow is to be a tool.
func (s *Server) offers(id string) bool {
	return slices.Contains(s.cfg.Workflows, id) || len(s.cfg.Workflows) == 1 && s.cfg.Workflows[0] == All
}

// offered is the tool of a workflow: execute_workflow with the workflow given.
func offered(name string, o offer) *tool {
	input := req("input", anything, "The input of the workflow: a text, or JSON if the workflow needs it.")
	if o.inputs != "" {
		input = req("input", o.inputs, "The inputs of the workflow, by name.")
	}
	return &tool{
		name: name, title: o.workflow, role: access.RoleRun, effect: acts,
		about: o.about + "\n\nA workflow of Hocket (id " + o.workflow + "). Returns its output, or the runId for get_run if the run takes longer.",
		takes: []prop{input, waitProp}, gives: outcomeOut,
		do: func(ctx context.Context, c *call) (any, error) {
			var args executeArgs
			if err := c.decode(&args); err != nil {
				return nil, err
			}
			args.ID = o.workflow
			return c.execute(ctx, args)
		},
	}
}
