package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// The effects of tools.
const (
	reads   = op.Reads
	adds    = op.Adds
	changes = op.Changes
	removes = op.Removes
	acts    = op.Acts
)

// tool is a row of the tool table.
type tool struct {
	name, title string
	role        access.Role
	effect      op.Effect
	about       string
	takes       []prop
	isOpen      bool // arguments other than takes are accepted too
	gives       json.RawMessage
	do          func(ctx context.Context, c *call) (any, error)
	of          *op.Operation // the entry of the table that the tool is derived from, or nil

	accepts *schema.Schema
}

// call is one call of a tool by an authorized principal.
type call struct {
	*account
	*transport.Caller
	tool  *tool
	req   *sdk.CallToolRequest
	began time.Time
	// visit is the HTTP request that made the call, or nil if the call came over standard
	// input, from a client that was started on this machine.
	visit *callRequest
	// intent is the number of the record that the next record replaces; 0 means none.
	intent int64
}

// decode decodes the arguments.
func (c *call) decode(into any) error { return c.tool.arguments(c.req.Params.Arguments, into) }

// decodeID decodes the arguments and returns the required id.
func (c *call) decodeID(into interface{ id() (string, error) }) (string, error) {
	if err := c.decode(into); err != nil {
		return "", err
	}
	return into.id()
}

// table returns all tools: their names, the roles that may call them (SEC2), their arguments and
// results. The documentation is generated from it.
func table() []*tool {
	all := []*tool{}
	for _, part := range [][]*tool{agentTools(), workflowTools(), runTools(),
		operationTools(&op.CancelRun.Operation), resumeTools(),
		operationTools(&op.SignalRun.Operation, &op.RetryRun.Operation), scheduleTools()} {
		all = append(all, part...)
	}
	for _, t := range all {
		t.compile()
	}
	return all
}

// compile prepares the validation of arguments. An invalid schema is a bug that the first test
// finds.
func (t *tool) compile() {
	s, err := schema.Compile(t.input())
	if err != nil {
		panic(fmt.Sprintf("schema of tool %s: %v", t.name, err))
	}
	t.accepts = s
}

func (t *tool) input() json.RawMessage {
	if t.isOpen {
		return extensible(t.takes...)
	}
	return closedObject(t.takes...)
}

// announced returns the tool as clients see it.
func (t *tool) announced() *sdk.Tool {
	yes, no := true, false
	a := &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: t.effect == reads, IdempotentHint: t.effect == changes,
		DestructiveHint: &no, OpenWorldHint: &no}
	if t.effect == removes || t.effect == changes {
		a.DestructiveHint = &yes
	}
	if t.effect == acts {
		a.OpenWorldHint = &yes
	}
	return &sdk.Tool{Name: t.name, Title: t.title, Description: t.about, InputSchema: t.input(), OutputSchema: t.gives,
		Annotations: a}
}

// handler returns the SDK's handler of a tool: it checks the role, and converts results and errors.
func (d *account) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		ctx, who, err := d.require(tracecontext.Renew(ctx, traceOf(req)), t.role)
		if err != nil {
			return d.failed(ctx, t.name, err), nil
		}
		visit := d.server.visit(req.Extra)
		c := &call{account: d, Caller: who, tool: t, req: req, began: time.Now(), visit: visit}
		if err := c.intend(); err != nil {
			return d.failed(ctx, t.name, err), nil
		}
		out, err := t.do(visit.with(ctx), c)
		c.conclude(err)
		if err != nil {
			return d.failed(ctx, t.name, err), nil
		}
		return structuredResult(out)
	}
}

// traceOf returns the trace context of a call: the one in `_meta` (SEP-414), or else that of the
// HTTP request that made the call. The context of a session is not consulted, since it may carry
// the trace context of the request that started the session.
func traceOf(req *sdk.CallToolRequest) tracecontext.SpanContext {
	sc := tracecontext.Of(func(name string) string {
		text, _ := req.Params.Meta[name].(string)
		return text
	})
	if !sc.IsValid() && req.Extra != nil {
		sc = tracecontext.OfHeader(req.Extra.Header)
	}
	return sc
}

// structuredResult returns a result as structured content and as the same text, for clients that
// support only text.
func structuredResult(out any) (*sdk.CallToolResult, error) {
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	return &sdk.CallToolResult{StructuredContent: json.RawMessage(text),
		Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, nil
}

// Names returns the names of all fixed tools in table order, separated by spaces.
func Names() string {
	var out []string
	for _, t := range table() {
		out = append(out, t.name)
	}
	return strings.Join(out, " ")
}

// Table returns the table of tools for the documentation, in Markdown: each tool with the role that
// it needs and its arguments, required ones in bold.
func Table() string {
	var b strings.Builder
	b.WriteString("\n| tool | role | arguments |\n| --- | --- | --- |\n")
	for _, t := range table() {
		var args []string
		for _, p := range t.takes {
			if strings.HasPrefix(p.about, "Alias of ") {
				continue
			}
			if name := "`" + p.name + "`"; p.must || strings.HasSuffix(p.about, " Required.") {
				args = append(args, "**"+name+"**")
			} else {
				args = append(args, name)
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", t.name, t.role, strings.Join(args, ", "))
	}
	b.WriteString("\n")
	return b.String()
}
