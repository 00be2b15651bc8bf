package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service"
)

// metaProblem is the key under which programs find the problem of a failed call:
// [transport.Problem] as JSON. It is not structured content, which would have to match the tool's
// schema.
const metaProblem = "hocket/problem"

// conflictError reports a conflict with the current state, as CodeConflict.
type conflictError struct{ reason string }

func (e *conflictError) Error() string { return e.reason }

// problemOf returns the problem for an error, with hints that name tools.
func problemOf(err error) transport.Problem {
	if c, ok := errors.AsType[*conflictError](err); ok {
		return transport.NewProblem(errcode.Conflict, c.reason)
	}
	return transport.ProblemFor(err, errcode.Tools)
}

// failed returns a result that tells a model what went wrong and what it can do about it.
func (d *account) failed(ctx context.Context, tool string, err error) *sdk.CallToolResult {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = &conflictError{
			"the request was cancelled, or the server is shutting down; runs continue, and cancel_run stops one",
		}
	}
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		d.server.log.Error("tool call failed", "tool", tool, "error", err)
	}
	text := problemText(p)
	if next := advice(err, p); next != "" {
		text += "\nNext: " + next
	}
	res := &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	res.Meta = sdk.Meta{metaProblem: p}
	return res
}

// problemText returns the text of a problem: the code first, then each diagnostic with its location
// and its hint on separate lines.
func problemText(p transport.Problem) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", p.Code)
	if len(p.Diagnostics) == 0 {
		b.WriteString(cmp.Or(p.Detail, p.Title))
		return b.String()
	}
	b.WriteString(p.Title)
	for _, d := range p.Diagnostics {
		b.WriteString("\n- " + diagnosticText(d))
	}
	return b.String()
}

func diagnosticText(d diag.Diagnostic) string {
	var b strings.Builder
	b.WriteString(d.Span.String())
	if d.Path != "" {
		b.WriteString(" " + d.Path)
	}
	fmt.Fprintf(&b, ": %s: %s (%s)", d.Severity, d.Message, d.Code)
	if d.Hint != "" {
		b.WriteString("; hint: " + d.Hint)
	}
	return b.String()
}

// refused returns the error for a document with errors, and nil if there are only warnings.
func refused(list diag.List) error {
	if !list.HasErrors() {
		return nil
	}
	return &service.InvalidError{Diagnostics: list}
}

// finding is a diagnostic in the form that results show.
type finding struct {
	Severity diag.Severity `json:"severity"`
	Code     string        `json:"code"`
	Message  string        `json:"message"`
	Path     string        `json:"path,omitempty"`
	Line     int           `json:"line,omitempty"`
	Column   int           `json:"column,omitempty"`
	Hint     string        `json:"hint,omitempty"`
}

var findings = list(closedObject(
	req("severity", oneOf("error", "warning", "info"), ""), req("code", aText, ""), req("message", aText, ""),
	opt("path", aText, "Place in the document, such as nodes[1].config.agentId."),
	opt("line", aNumber, ""), opt("column", aNumber, ""), opt("hint", aText, "What to do about it."),
))

func findingsOf(l diag.List) []finding {
	l.Sort()
	l = errcode.Hinted(l, errcode.Tools)
	out := make([]finding, len(l))
	for i, d := range l {
		out[i] = finding{d.Severity, d.Code, d.Message, d.Path, d.Span.Start.Line, d.Span.Start.Column, d.Hint}
	}
	return out
}
