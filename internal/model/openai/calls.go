package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
)

// pendingCall is a tool call that may still receive chunks.
type pendingCall struct {
	index    int64 // its index as sent by the server, noIndex if none was sent
	id, name string
	args     strings.Builder
	content  string // extra_content: signatures of Gemini models
	// piece is the last piece of args, and resent reports whether each begins with the one before.
	piece  string
	resent bool
	object string // the result of whole when args had the length seen
	seen   int
}

const noIndex = -1

// whole returns the arguments of c without spaces once they are complete, otherwise "".
func (c *pendingCall) whole() string {
	if n := c.args.Len(); n != c.seen {
		c.seen, c.object = n, object(c.args.String())
	}
	return c.object
}

// object returns args without spaces if it is a JSON object, which nothing can continue, otherwise
// "".
func object(args string) string {
	var b bytes.Buffer
	if !strings.HasSuffix(strings.TrimSpace(args), "}") || json.Compact(&b, []byte(args)) != nil {
		return ""
	}
	return b.String()
}

// arguments returns the arguments. Some servers send all of them so far in each piece.
func (c *pendingCall) arguments() string {
	args := c.args.String()
	if c.resent && !json.Valid([]byte(args)) && json.Valid([]byte(c.piece)) {
		return c.piece
	}
	return args
}

// addCall processes a chunk of a tool call.
func (a *answer) addCall(piece sdk.ChatCompletionChunkChoiceDeltaToolCall, onDelta func(model.Delta)) {
	if adapter.CheckCalls(len(a.calls)) != nil {
		return
	}
	args := piece.Function.Arguments
	at := a.callOf(piece)
	if at < 0 {
		index := piece.Index
		if !piece.JSON.Index.Valid() {
			index = noIndex
		}
		a.calls = append(a.calls, &pendingCall{index: index})
		at = len(a.calls) - 1
	}
	c := a.calls[at]
	if c.id == "" {
		c.id = piece.ID
	}
	if piece.Function.Name != "" {
		c.name = piece.Function.Name
	}
	switch {
	case args == "":
	case piece.Function.Name != "" && c.whole() != "" && c.whole() == object(args):
		args = "" // the whole call again, at the end of the stream
	case c.args.String() == "{}": // some servers begin every call so
		c.args.Reset()
		c.seen, c.object = 0, ""
	}
	if args != "" {
		c.resent = strings.HasPrefix(args, c.piece) && (c.resent || c.piece == "")
		c.piece = args
	}
	c.args.WriteString(args)
	c.content = cmp.Or(piece.JSON.ExtraFields[extraContent].Raw(), c.content)
	onDelta(model.Delta{ToolCall: &model.ToolCallDelta{
		Index: at, ID: piece.ID, Name: piece.Function.Name, Arguments: args,
	}})
}

// callOf returns the position of the call to which a chunk belongs, or -1 if the chunk begins
// another call. OpenAI numbers calls and names them in their first chunk. Other servers send no
// numbers, the same number for every call, a number that differs between the first chunk and the
// others, no ids, or a new id with each chunk. Some repeat a call at the end, or end it with blank
// arguments.
func (a *answer) callOf(piece sdk.ChatCompletionChunkChoiceDeltaToolCall) int {
	id, name, args := piece.ID, piece.Function.Name, piece.Function.Arguments
	blank := strings.TrimSpace(args) == ""
	numbered := piece.JSON.Index.Valid()
	last := len(a.calls) - 1
	same := func(c *pendingCall) bool { return !numbered || c.index == piece.Index }
	at := lastIndex(a.calls, func(c *pendingCall) bool {
		return id != "" && c.id == id && (same(c) || name == "")
	})
	if at >= 0 {
		c := a.calls[at]
		if had := c.whole(); name != "" && !blank && had != "" && had != "{}" && had != object(args) {
			return -1 // this server sends one id for all calls
		}
		return at
	}
	if repeated := object(args); id == "" && name != "" && repeated != "" {
		at = lastIndex(a.calls, func(c *pendingCall) bool { return same(c) && c.name == name && c.whole() == repeated })
		if at >= 0 {
			return at
		}
	}
	at = last
	if numbered {
		at = lastIndex(a.calls, same)
	}
	switch {
	case at < 0 && last >= 0 && id == "" && name == "" && a.calls[last].whole() == "":
		a.calls[last].index = piece.Index
		return last
	case at < 0 && last >= 0 && name == "" && args != "" && blank:
		return last
	case at < 0:
		return -1
	}
	c := a.calls[at]
	var begins bool
	switch {
	case name == "":
		begins = id != "" && c.whole() != "" && !blank
	case id != "" && c.id != "":
		begins = true
	case c.name != "":
		begins = c.name != name || c.whole() != "" && (!blank || args == "" && !numbered)
	}
	if begins {
		return -1
	}
	return at
}

// lastIndex returns the position of the last call that matches, or -1.
func lastIndex(calls []*pendingCall, matches func(*pendingCall) bool) int {
	for i, c := range slices.Backward(calls) {
		if matches(c) {
			return i
		}
	}
	return -1
}
