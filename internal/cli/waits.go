package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// waits describes what the run waits for and how to answer.
func (f *follower) waits(o project.Run) string {
	var b strings.Builder
	what := "a signal"
	if slices.ContainsFunc(o.Waiting, func(w project.Waiting) bool { return w.Kind != workflow.WaitSignal }) {
		what = "a person"
	}
	b.WriteString("run " + o.ID + " is paused and waits for " + what + ":")
	for _, w := range o.Waiting {
		fmt.Fprintf(&b, "\n  %s at %s (%s)", w.ID, clean(w.Node), w.Kind)
		switch {
		case w.Prompt == "":
		case w.Tool != "" && w.Kind == workflow.WaitApproval:
			// what is to be approved is shown in full, including a changed definition
			b.WriteString(": " + strings.ReplaceAll(escaped(w.Prompt), "\n", "\n    "))
		default:
			b.WriteString(": " + short(clean(escaped(w.Prompt)), maxPrompt))
		}
		if w.Tool != "" && w.Kind == workflow.WaitApproval {
			b.WriteString("\n    to approve: " + clean(escaped(w.Tool)) + " " + escaped(string(w.Arguments)))
		} else if text := toApprove(w); text != "" {
			b.WriteString("\n    to approve:" + afterLabel(f.excerpt(text)))
		}
		if fields := fieldsOf(w); len(fields) > 0 {
			b.WriteString("\n    fields:" + strings.ReplaceAll("\n"+fieldsText(fields), "\n", "\n      "))
		} else if text := answers(w); text != "" {
			b.WriteString("\n    " + short(text, maxPrompt))
		}
		if len(w.Roles) > 0 {
			b.WriteString("\n    for " + clean(escaped(strings.Join(w.Roles, ", "))))
		}
		b.WriteString("\n    " + f.answerLine(o, w))
	}
	return b.String()
}

// maxJudged is the maximum size in bytes of a text to be approved in the output of a run that has
// paused; `runs show` shows longer texts in full.
const maxJudged = 4 << 10

// excerpt returns the beginning of a long text to be approved, with a line that says where the rest
// is.
func (f *follower) excerpt(text string) string {
	if len(text) <= maxJudged {
		return text
	}
	head := strings.ToValidUTF8(text[:maxJudged], "")
	return fmt.Sprintf("%s…\n(the first %s of %s; see all of it with: hocket runs show %s%s)", head,
		bytesText(int64(len(head))), bytesText(int64(len(text))), quote(f.run), f.storeFlag())
}

// afterLabel formats a text for printing after a label: a single line next to it, several lines
// below it.
func afterLabel(text string) string {
	if text = strings.TrimRight(text, "\n"); !strings.Contains(text, "\n") {
		return " " + text
	}
	return "\n      " + strings.ReplaceAll(text, "\n", "\n      ")
}

// answers describes the possible answers to a question, or to a wait for a signal; "" means
// anything.
func answers(w project.Waiting) string {
	switch {
	case w.Kind == workflow.WaitSignal && w.Filter != "":
		return "signal " + clean(w.Signal) + " that " + clean(escaped(w.Filter))
	case w.Kind == workflow.WaitSignal:
		return "signal " + clean(w.Signal)
	case w.Kind == workflow.WaitApproval:
		return ""
	case len(fieldsOf(w)) > 0:
		return fieldsText(fieldsOf(w))
	case len(w.Options) > 0:
		return "one of: " + clean(escaped(strings.Join(w.Options, ", ")))
	case len(w.Schema) > 0:
		return "an answer that matches " + clean(escaped(string(w.Schema)))
	}
	return ""
}

// answerLine returns the command that answers a wait of the run.
func (a *app) answerLine(o project.Run, w project.Waiting) string {
	if w.Kind == workflow.WaitSignal {
		return a.lineOf("signal", o.ID, " "+quote(w.Signal)+" VALUE")
	}
	pick := ""
	if people := slices.DeleteFunc(slices.Clone(o.Waiting), func(w project.Waiting) bool {
		return w.Kind == workflow.WaitSignal
	}); len(people) > 1 {
		pick = " --wait " + quote(w.ID)
	}
	if w.Kind == workflow.WaitApproval {
		also := "    (or --reject, with --note TEXT)"
		if len(w.Schema) > 0 {
			also = "    (with --arguments JSON to change them; or --reject, with --note TEXT)"
		}
		return a.resumeLine(o.ID, pick+" --approve") + also
	}
	if fields := fieldsOf(w); len(fields) > 0 {
		return a.resumeLine(o.ID, pick+setFlags(fields))
	}
	return a.resumeLine(o.ID, pick+" --input TEXT")
}

// maxPrompt is the maximum width in columns of a question that is only mentioned.
const maxPrompt = 200

func (a *app) resumeLine(run, flags string) string {
	if a.temporal.Address != "" {
		flags = " --temporal " + quote(a.temporal.Address) + flags
	}
	return a.lineOf("resume", run, flags)
}

// storeFlag returns the flag with which another command finds the runs of this one, or "" if it
// needs none.
func (a *app) storeFlag() string {
	switch {
	case a.server != "":
		return " --server " + quote(a.server)
	case a.entered && a.at.URL() == nil: // the file of the namespace
		return " --db " + quote(a.at.String())
	}
	flags := ""
	if a.db != "" {
		flags = " --db " + quote(a.shownDB())
	}
	if a.entered {
		flags += " --namespace " + quote(a.namespace)
	}
	return flags
}

// shownDB returns --db without its password.
func (a *app) shownDB() string {
	if at, err := a.config().Locator(); err == nil {
		return at.String()
	}
	return a.db // no store is used in this case
}

// lineOf returns the command line of a verb for a run.
func (a *app) lineOf(verb, run, flags string) string {
	return "hocket " + verb + " " + quote(run) + a.storeFlag() + flags
}
