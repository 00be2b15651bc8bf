package openaiapi

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// mark matches the last line of an answer that asks a person for a decision (D32).
var mark = regexp.MustCompile(`(?:^|\n)[ \t]*\[run (\S+) wait (\S+)\][ \t]*$`)

func markOf(run, wait string) string { return "[run " + run + " wait " + wait + "]" }

// normalize normalizes text that a client stored: line endings and surrounding whitespace may
// differ.
func normalize(text string) string { return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")) }

// withoutMark removes the last line if it is a mark.
func withoutMark(text string) string {
	text = normalize(text)
	if at := mark.FindStringIndex(text); at != nil {
		return strings.TrimSpace(text[:at[0]])
	}
	return text
}

// unmarked ensures that an output does not end like a question to a person (SEC12): a model wrote
// it, and the person's next message would be taken for an answer.
func unmarked(run, output string) string {
	if mark.MatchString(normalize(output)) {
		return output + "\n[end of run " + run + "]"
	}
	return output
}

// quotedWait identifies the wait that the last answer in a conversation asks about.
type quotedWait struct{ run, wait, text string }

// quoted finds the mark at the end of the last answer. Marks anywhere else, in older answers or in
// user messages, do not count.
func (q *request) quoted() (quotedWait, bool) {
	for _, m := range slices.Backward(q.Messages) {
		if m.Role != roleAssistant {
			continue
		}
		said := normalize(m.text)
		if m := mark.FindStringSubmatch(said); m != nil {
			return quotedWait{m[1], m[2], said}, true
		}
		break
	}
	return quotedWait{}, false
}

// pending is a wait, and whether only a person may answer it.
type pending struct {
	project.Waiting
	// person is set if only a person may answer; it is known only for results of ownWait.
	person bool
}

// waitsOf returns the open waits of a run, oldest first.
func waitsOf(o project.Run) []pending {
	list := make([]pending, len(o.Waiting))
	for i, w := range o.Waiting {
		list[i].Waiting = w
	}
	return list
}

// question returns the text that a person sees for a wait, with the actual tool and arguments if a
// call waits (SEC12). The text is always the same, so that it can be distinguished from text that
// only looks like it.
func question(run string, w pending) string {
	var parts []string
	if about := strings.TrimSpace(expr.Text(w.Input)); about != "" {
		parts = append(parts, about)
	}
	if p := strings.TrimSpace(w.Prompt); p != "" {
		parts = append(parts, p)
	}
	if w.Tool != "" && w.Kind == workflow.WaitApproval {
		parts = append(parts, fmt.Sprintf("Approval needed to call the tool `%s` with:\n```json\n%s\n```", w.Tool,
			w.Arguments))
	}
	if w.Changed {
		parts = append(parts,
			"The definition of the tool has changed since the run began; approving accepts the new definition.")
	}
	switch {
	case w.Kind == workflow.WaitSignal:
		parts = append(parts, "The run waits for the signal `"+w.Signal+
			"` of another program, which no message replaces.")
	case w.Kind == workflow.WaitApproval:
		parts = append(parts, "Answer `approve` or `reject`, with a reason like this: `reject: REASON`.")
	case len(w.Options) > 0:
		parts = append(parts, "Answer one of: "+strings.Join(w.Options, ", ")+".")
	case len(w.Schema) > 0:
		parts = append(parts, "The answer must be JSON that matches the schema:\n```json\n"+string(w.Schema)+"\n```")
	}
	if len(parts) == 0 {
		parts = append(parts, "The run waits for an answer.")
	}
	return normalize(strings.Join(append(parts, markOf(run, w.ID)), "\n\n"))
}

// isAsked reports whether an answer in a conversation ends with the question that we asked.
func isAsked(said, question string) bool {
	before, found := strings.CutSuffix(said, normalize(question))
	return found && (before == "" || strings.HasSuffix(before, "\n"))
}

// decision parses the answer to an approval. A message counts only if it is nothing but the
// decision, optionally with a reason after a colon: a message that merely contains one of the words
// may mean anything (D32).
func decision(text string) (value event.Value, note string, ok bool) {
	word, note, _ := strings.Cut(strings.TrimSpace(text), ":")
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "approve", "yes":
		return expr.Quote(workflow.PortApprove), strings.TrimSpace(note), true
	case "reject", "no":
		return expr.Quote(workflow.PortReject), strings.TrimSpace(note), true
	}
	return nil, "", false
}

// textOrJSON returns the answer to a question: an object, a list or a quoted string if it is one,
// otherwise the text itself.
func textOrJSON(text string) event.Value {
	t := strings.TrimSpace(text)
	if t != "" && strings.ContainsRune(`{["`, rune(t[0])) && json.Valid([]byte(t)) {
		return event.Value(t)
	}
	return expr.Quote(text)
}
