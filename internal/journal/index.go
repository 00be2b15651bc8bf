package journal

import (
	"strings"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Aliases of types from other packages that stores use.
type (
	// Money is an amount of US dollars.
	Money = chat.Money
	// Labels are the labels of a run.
	Labels = workflow.Labels
)

// Index is what lists and searches know about a run after an append (ADR 98). All of it is already
// in the run's events, so it exposes no more secrets than the journal does.
type Index struct {
	// Texts are the strings by which the run is found from now on; nil keeps the previous ones.
	Texts *Texts
	// Outcome is the run's usage, and why it failed.
	Outcome Outcome
}

// Outcome is what is known about a run that has paused or ended, including its child runs.
type Outcome struct {
	Tokens, Calls int64
	// Cost is the sum of the known costs: the prices of some models may be unknown.
	Cost chat.Money
	// Code and Message describe why the run failed; they are empty for all other runs. Message has
	// at most MaxMessage bytes.
	Code, Message string
}

// Texts are the searchable strings of a run, each truncated to MaxText or MaxErrorText bytes.
type Texts struct {
	Input, Output event.Value
	Error         string
}

const (
	// MaxText is the number of bytes searched of an input and of an output.
	MaxText = 4 << 10
	// MaxErrorText is the number of bytes searched of an error.
	MaxErrorText = 1 << 10
	// MaxMessage is the maximum length of Outcome.Message.
	MaxMessage = 200
	// MaxPreview is the maximum length of the preview of an input.
	MaxPreview = 120
)

// Cut returns a prefix of s of at most n bytes, which is valid UTF-8.
func Cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Preview returns the start of an input on one line, for lists: a string unquoted, any other value
// as JSON.
func Preview(v event.Value) string {
	text := plain(v, 2*MaxPreview)
	if len(v) > 0 && v[0] != '"' {
		text = string(v[:min(len(v), 2*MaxPreview)])
	}
	return Cut(strings.Join(strings.Fields(text), " "), MaxPreview)
}
