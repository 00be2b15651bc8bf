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
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// publishedTool is a published workflow that has its own tool.
type publishedTool struct {
	workflow, about string
	// inputs is the JSON Schema of the named inputs; "" means that the input is a string.
	inputs string
}

// maxToolName is the maximum length of tool names: clients prefix them with the server's name, and
// models accept at most 64 bytes.
const maxToolName = 48

// ToolName returns the name of the tool for a workflow. An id of letters, digits, `_` and `-` is
// used as is. Any other id, an id that is too long and one that equals the name of a fixed tool get
// a suffix derived from the whole id, so that no name depends on which other workflows exist.
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

// updateTools adds tools for the workflows that are to be tools, and removes tools whose workflows
// no longer are.
func (d *account) updateTools(ctx context.Context, entries []catalog.Entry) {
	wanted := map[string]publishedTool{}
	var fixed []string
	for _, t := range d.server.tools {
		fixed = append(fixed, t.name)
	}
	for _, e := range entries {
		if !d.server.offers(e.ID) {
			continue
		}
		w, _, problems, err := transport.From(ctx).Service.LoadStored(ctx, e.ID, service.Which{}, service.LoadOptions{})
		if err != nil || w == nil || problems.HasErrors() {
			continue // it cannot run; execute_workflow reports the reason
		}
		name := ToolName(e.ID, fixed)
		if other, ok := wanted[name]; ok {
			d.server.log.Warn("a workflow is not offered as a tool: its name is taken", "workflow", e.ID, "other",
				other.workflow, "tool", name)
			continue
		}
		about := cmp.Or(w.Description, "Runs the workflow "+strconv.Quote(cmp.Or(e.Name, e.ID))+".")
		wanted[name] = publishedTool{e.ID, about, inputsOf(w)}
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

// inputsOf returns the JSON Schema of the named inputs of a workflow for its tool, or the schema of
// any object if it is too large or too deep to be part of another schema. The run checks the
// inputs.
func inputsOf(w *workflow.Workflow) string {
	inputs := form.Schema(w.Inputs)
	if inputs == nil {
		return ""
	}
	if _, err := schema.Compile(offered("", publishedTool{inputs: string(inputs)}).input()); err != nil {
		return aMap
	}
	return string(inputs)
}

// anyInput returns the schema of the input that the tool of a workflow accepts. Whether the input
// is valid is decided by the run, as on every transport: a string may be accepted as the value that
// it parses to.
func anyInput(name string) *schema.Schema {
	t := offered(name, publishedTool{})
	t.compile()
	return t.accepts
}

// offers reports whether a workflow is to be a tool.
func (s *Server) offers(id string) bool {
	return slices.Contains(s.cfg.Workflows, id) || len(s.cfg.Workflows) == 1 && s.cfg.Workflows[0] == All
}

// offered returns the tool of a workflow: execute_workflow with a fixed workflow.
func offered(name string, o publishedTool) *tool {
	input := req("input", anything, "The input of the workflow: a text, or JSON if the workflow needs it.")
	if o.inputs != "" {
		input = req("input", o.inputs, "The inputs of the workflow, by name.")
	}
	return &tool{
		name: name, title: o.workflow, role: access.RoleRun, effect: acts,
		about: o.about + "\n\nA workflow of Hocket (id " + o.workflow +
			"). Returns its output, or the runId for get_run if the run takes longer.",
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
