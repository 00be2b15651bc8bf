package mcpserver

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// canAsk reports whether the client can show a form and its answer counts as a decision. Over
// standard input the client was started by the person at this machine. Over HTTP nothing
// distinguishes an answer from a person from one that a program made up, so it counts only for
// tokens that may approve (D32, SEC12).
func (c *call) canAsk() bool {
	if c.visit != nil && c.RequireApproval() != nil {
		return false
	}
	p := c.req.Session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// personText returns what a person can do about a wait that no model may answer.
func (c *call) personText(run, wait string) string {
	text := "only a person can decide this: with `hocket resume " + run + " --wait " + wait +
		" --approve` (or --reject) on the machine that has the store"
	if c.visit != nil {
		text += ", or over the HTTP API with a token that has the right approve"
	}
	return text + ". Tell the user what the run waits for; do not try again before the decision."
}

// maxAsked is the maximum size in bytes of what a person is shown: longer content cannot be
// approved here, since the person could not see it.
const maxAsked = 16 << 10

// elicitAnswer asks the client's user about a wait and answers the wait with the result. It reports
// whether there was an answer. Model output plays no part in it: the user is shown the arguments
// that the tool would receive, and the answer applies to this wait, which is bound to them (SEC12).
func (c *call) elicitAnswer(ctx context.Context, rec service.Recorded, w *event.WaitOpened) (
	answered bool, err error) {
	if w, err = c.Service.Opened(ctx, rec.Head.Run, w.Wait); err != nil { // rec may have tokens in place of long values
		return false, err
	}
	about, err := c.Service.Judged(ctx, rec.Head.Run, w.Wait)
	if err != nil {
		return false, err
	}
	text := approvalText(rec, w, about)
	if len(text) > maxAsked {
		return false, service.Refuse(errcode.ApprovalTooLong, errcode.Fields{"size": bytesText(len(text)),
			"max": bytesText(maxAsked), "instead": c.personText(rec.Head.Run, w.Wait)}, nil)
	}
	isApproval := w.Kind == workflow.WaitApproval
	form := map[string]any{"note": map[string]any{"type": "string", "title": "Note",
		"description": "Optional; recorded with the decision."}}
	var must []string
	if !isApproval {
		answer := map[string]any{"type": "string", "title": "Answer"}
		if len(w.Options) > 0 {
			answer["enum"] = w.Options
		}
		form["answer"], must = answer, []string{"answer"}
	}
	schema := map[string]any{"type": "object", "properties": form}
	if must != nil {
		schema["required"] = must
	}
	asking, cancel := c.untilClosing(ctx)
	defer cancel()
	res, err := c.req.Session.Elicit(asking, &sdk.ElicitParams{Mode: "form", Message: text, RequestedSchema: schema})
	if err != nil {
		return false, &conflictError{"the client did not ask its user (" + err.Error() + "); run " + rec.Head.Run +
			" still waits"}
	}
	said, _ := res.Content["answer"].(string) // the schema requires it if it is needed
	switch {
	case res.Action == "accept" && isApproval:
		said = workflow.PortApprove
	case res.Action == "decline" && isApproval:
		said = workflow.PortReject
	case res.Action != "accept" || said == "":
		return false, nil
	}
	note, _ := res.Content["note"].(string) // it is optional
	run := rec.Head.Run
	if err := c.submitAnswer(ctx, run, w.Wait, expr.Quote(said), resumeArgs{Note: note}); err != nil {
		return false, err
	}
	return true, nil
}

// approvalText returns the text that a person sees: first what Hocket itself says, then what models
// and tools may have written, with each line of it marked. about is the input of the waiting node.
func approvalText(rec service.Recorded, w *event.WaitOpened, about event.Value) string {
	var b strings.Builder
	o := rec.Object()
	name, node := rec.Head.WorkflowName, ""
	for _, x := range o.Waiting {
		if x.ID == w.Wait {
			node = x.Node
		}
	}
	what := "needs your decision"
	if w.Kind == workflow.WaitApproval {
		what = "asks for your approval"
	}
	fmt.Fprintf(&b, "Hocket: a run of the workflow \"%s\" %s.\nRun %s, node %s, wait %s.\n", escaped(name), what,
		escaped(o.ID), escaped(node), escaped(w.Wait))
	if w.Tool != "" {
		fmt.Fprintf(&b, "Tool that will be called: %s\nWith exactly these arguments: %s\n", escaped(w.Tool),
			escaped(string(w.Arguments)))
	}
	if w.Changed {
		b.WriteString("The tool's definition has changed since the run began; approving accepts the new one.\n")
	}
	if w.Kind == workflow.WaitApproval {
		b.WriteString("Accept approves this call only. Decline rejects it. Cancel leaves it open.\n")
	}
	quoteLines := func(title, text string) {
		if text == "" {
			return
		}
		b.WriteString(title + "\n")
		for line := range strings.Lines(text) {
			b.WriteString("> " + escaped(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	quoteLines("Text of the workflow (it may contain text of models and tools):", w.Prompt)
	if text := expr.Text(about); !strings.Contains(w.Prompt, text) { // a prompt may include it through a template
		quoteLines("The text to be decided on:", text)
	}
	return b.String()
}
