package journal

import (
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/workflow"
)

// Money is an amount of US dollars, and Labels are those of a run, for stores.
type (
	Money  = chat.Money
	Labels = workflow.Labels
)

// Index is what lists and searches know of a run after an append (ADR 98). All of it is in the run's events already, so that it has no more of secrets than the journal.
type Index struct {
	// Texts are those by which the run is found from now on; nil leaves what there was.
	Texts *Texts
	// Outcome is what the run has used, and why it failed.
	Outcome Outcome
}

// Outcome is what is known of a run that has paused or ended, with the runs that it started.
type Outcome struct {
	Tokens, Calls int64
	// Cost sums what is known: prices of some models may not be.
	Cost chat.Money
	// Code and Message tell why the run failed; empty for all others. Message has at most MaxMessage bytes.
	Code, Message string
}

// Texts are the texts of a run that are searched: so much of each as MaxText and MaxErrorText say.
type Texts struct {
	Input, Output engine.Value
	Error         string
}

const (
	// MaxText is how many bytes of an input and of an output are searched, and MaxErrorText of an error.
	MaxText      = 4 << 10
	MaxErrorText = 1 << 10
	// MaxMessage bounds Outcome.Message, and MaxPreview the preview of an input.
	MaxMessage = 200
	MaxPreview = 120
)

// Cut gives at most n bytes of the beginning of a text, which is valid UTF-8 then.
func Cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Preview gives the beginning of an input on one line, for lists: a text as it reads, all else as JSON.
func Preview(v engine.Value) string {
	text := plain(v, 2*MaxPreview)
	if len(v) > 0 && v[0] != '"' {
		text = string(v[:min(len(v), 2*MaxPreview)])
	}
	return Cut(strings.Join(strings.Fields(text), " "), MaxPreview)
}
