package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// Always is the value of Entry.Times for an entry that is never used up.
const Always = -1

// maxDelay is the maximum value of delayMs and retryAfterMs: a larger value is a mistake.
const maxDelay = 24 * time.Hour

// CodeBadReply is the code of diagnostics about contradictory or empty entries.
const CodeBadReply = "bad-reply"

// bounds are large enough for recordings of long runs.
var bounds = source.Options{MaxBytes: 256 << 20, MaxValues: 5_000_000}

// Script is a parsed reply script. It is immutable.
type Script struct{ Entries []Entry }

// Entry is one reply. It has either an answer (text, json, tool calls) or an Error.
type Entry struct {
	// Agent is the name of the agent or the id of the node that the entry may answer; "" means any.
	Agent string
	// Contains must occur in the text of the last message; "" matches any message.
	Contains string
	// Text is the reply; for an entry with `json:` it is that value, compact.
	Text      string
	Reasoning string
	// ToolCalls have an id only if the script specifies one.
	ToolCalls  []chat.ToolCall
	Error      *Failure
	StopReason model.StopReason
	Delay      time.Duration
	Usage      *chat.Usage
	// Times is how often the entry may be used: 1 if the script does not specify it, or Always.
	Times int
	// Span is the position of the entry.
	Span diag.Span
}

// Failure is the error that an entry returns. Code is any word; the codes in model.ErrorKinds mean
// the same as there.
type Failure struct {
	Code, Message string
	RetryAfter    time.Duration
}

// Parse parses a reply script. The Script holds the entries that could be read; use it only if the
// list has no errors.
func Parse(file string, data []byte) (*Script, diag.List) {
	root, diags := bounds.Parse(file, data)
	s := &Script{}
	if root == nil {
		return s, diags
	}
	top := root.Fields(&diags)
	// A recording without entries is `replies:` without a value.
	if _, begun := entryOf(root, "replies"); top != nil && !begun {
		top.Require("replies")
	}
	for _, item := range top.List("replies") {
		if f := item.Fields(&diags); f != nil {
			s.Entries = append(s.Entries, readEntry(f, &diags))
		}
	}
	top.Unknown(diag.Error)
	return s, diags
}

// entryOf returns a value, including null, and reports whether its key exists.
func entryOf(n *source.Node, key string) (*source.Node, bool) {
	e := n.Entry(key)
	if e == nil {
		return nil, false
	}
	return e.Value, true
}

func readEntry(f *source.Fields, diags *diag.List) Entry {
	e := Entry{
		Agent:      f.Text("agent"),
		Contains:   f.Text("contains"),
		Text:       f.Text("text"),
		Reasoning:  f.Text("reasoning"),
		StopReason: model.StopReason(f.Str("stopReason")),
		ToolCalls:  readCalls(f, diags),
		Error:      readFailure(f.Map("error"), diags),
		Delay:      millis(f, "delayMs", diags),
		Usage:      readUsage(f.Map("usage"), diags),
		Times:      readTimes(f, diags),
		Span:       f.Node().Span,
	}
	value, hasJSON := entryOf(f.Node(), "json")
	f.Get("json")
	if hasJSON {
		e.Text = string(value.JSON())
	}
	hasText := !f.Node().Get("text").IsNull()
	hasCalls := !f.Node().Get("toolCalls").IsNull()
	hasError := !f.Node().Get("error").IsNull()
	if hasError && (hasText || hasJSON || hasCalls || e.Reasoning != "" || e.StopReason != "") {
		bad(f, "error", diags, "an entry has an error or an answer, not both")
	}
	if hasText && hasJSON {
		bad(f, "json", diags, "an entry has text or json, not both")
	}
	if !hasText && !hasJSON && !hasCalls && !hasError {
		bad(f, "", diags, "an entry needs one of text, json, toolCalls and error")
	}
	switch e.StopReason {
	case "", model.StopEnd, model.StopLength, model.StopToolCalls, model.StopRefusal:
	default:
		bad(f, "stopReason", diags, fmt.Sprintf("stopReason must be %s, %s, %s or %s", model.StopEnd, model.StopLength,
			model.StopToolCalls, model.StopRefusal))
	}
	f.Unknown(diag.Error)
	return e
}

// bad reports a problem of an entry, at the value of a key if there is one.
func bad(f *source.Fields, key string, diags *diag.List, message string) {
	n := f.Node()
	if at := n.Get(key); at != nil {
		n = at
	}
	diags.Errorf(n.Span, n.Path(), CodeBadReply, "%s", message)
}

func readCalls(f *source.Fields, diags *diag.List) []chat.ToolCall {
	var out []chat.ToolCall
	for _, item := range f.List("toolCalls") {
		c := item.Fields(diags)
		if c == nil {
			continue
		}
		call := chat.ToolCall{ID: c.Text("id"), Name: c.RequireStr("name"), Arguments: json.RawMessage("{}")}
		switch args := c.Get("arguments"); {
		case args.IsNull():
		case args.Kind == source.Map:
			call.Arguments = args.JSON()
		case args.Kind == source.String: // the model's output, JSON or not
			call.Arguments = adapter.Arguments(args.Text)
		default:
			bad(c, "arguments", diags, "arguments must be a map, or a text in place of it")
		}
		c.Unknown(diag.Error)
		out = append(out, call)
	}
	if n := f.Node().Get("toolCalls"); out == nil && n != nil && n.Kind == source.List && len(n.Items) == 0 {
		bad(f, "toolCalls", diags, "toolCalls is empty")
	}
	return out
}

func readFailure(f *source.Fields, diags *diag.List) *Failure {
	if f == nil {
		return nil
	}
	e := &Failure{Code: f.RequireStr("code"), Message: f.Text("message"), RetryAfter: millis(f, "retryAfterMs", diags)}
	if e.Message == "" {
		e.Message = e.Code
	}
	kinds := model.ErrorKinds()
	names := make([]string, len(kinds))
	known := false
	for i, k := range kinds {
		names[i] = string(k)
		known = known || names[i] == e.Code
	}
	if hint := diag.DidYouMean(strings.ToLower(strings.ReplaceAll(e.Code, "-", "_")), names); hint != "" && !known {
		n := f.Node().Get("code")
		diags.Warnf(n.Span, n.Path(), CodeBadReply, "unknown error code %q", e.Code).Hint = hint
	}
	f.Unknown(diag.Error)
	return e
}

func readUsage(f *source.Fields, diags *diag.List) *chat.Usage {
	if f == nil {
		return nil
	}
	count := func(key string) int64 {
		n, _ := f.Int(key)
		if n < 0 {
			bad(f, key, diags, key+" must not be negative")
		}
		return n
	}
	u := &chat.Usage{
		InputTokens: count("inputTokens"), OutputTokens: count("outputTokens"),
		CachedTokens: count("cachedTokens"), ReasoningTokens: count("reasoningTokens"),
		CacheWriteTokens: count("cacheWriteTokens"),
	}
	f.Unknown(diag.Error)
	return u
}

func readTimes(f *source.Fields, diags *diag.List) int {
	n := f.Get("times")
	switch {
	case n.IsNull():
		return 1
	case n.Kind == source.String && n.Text == "always":
		return Always
	case n.Kind == source.String:
		bad(f, "times", diags, "times must be a number from 1, or always")
		return 1
	}
	times, ok := f.Int("times")
	if ok && (times < 1 || times > 1<<31-1) {
		bad(f, "times", diags, "times must be a number from 1, or always")
	}
	return int(max(times, 1))
}

func millis(f *source.Fields, key string, diags *diag.List) time.Duration {
	ms, _ := f.Int(key)
	if ms < 0 || ms > maxDelay.Milliseconds() {
		bad(f, key, diags, fmt.Sprintf("%s must be a number of milliseconds from 0 to %d", key,
			maxDelay.Milliseconds()))
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}
