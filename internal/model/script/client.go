package script

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Client answers model calls from a Script. It is safe for concurrent use: calls that arrive
// together use their entries in the order of arrival.
type Client struct {
	entries []Entry

	mu   sync.Mutex
	used []int // uses by entry
	// first is the number of used-up entries at the start, so that long recordings are not searched
	// from the beginning.
	first int
}

// New returns a client of s. used are the previously used entries, as reported by Reply.Source and
// SourceOf, one for each use, in any order; numbers that are not entries of s are ignored, since
// the script may have been replaced since.
func New(s *Script, used []int) *Client {
	c := &Client{entries: s.Entries, used: make([]int, len(s.Entries))}
	for _, n := range used {
		if n >= 1 && n <= len(c.used) {
			c.used[n-1]++
		}
	}
	return c
}

// Call implements model.Client. Errors: *model.Error with the entry's code, or with KindNoReply;
// *model.Interrupted if ctx was done during the entry's delay.
func (c *Client) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	at, use := c.take(req)
	if at < 0 {
		return model.Reply{}, &model.Error{Kind: model.KindNoReply, Message: c.noReply(req)}
	}
	e, source := &c.entries[at], at+1
	if e.Delay > 0 {
		t := time.NewTimer(e.Delay)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return model.Reply{}, &model.Interrupted{Source: source, Err: ctx.Err()}
		case <-t.C:
		}
	}
	if e.Error != nil {
		failed := &model.Error{Kind: model.ErrorKind(e.Error.Code), Message: e.Error.Message,
			RetryAfter: e.Error.RetryAfter, Source: source}
		if e.Usage != nil {
			failed.Usage = new(*e.Usage)
		}
		return model.Reply{}, failed
	}
	reply := model.Reply{
		Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(e.Text),
			ToolCalls: e.calls(source, use, req)},
		Reasoning:  e.Reasoning,
		StopReason: e.stop(),
		Model:      req.Model,
		Source:     source,
	}
	if e.Usage != nil {
		u := *e.Usage
		reply.Usage = &u
	}
	if onDelta != nil {
		stream(reply, onDelta)
	}
	return reply, nil
}

// take finds the entry for a call and uses it once. It returns its index, or -1, and the number of
// its previous uses.
func (c *Client) take(req model.Request) (at, use int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.first < len(c.entries) && c.isUsedUp(c.first) {
		c.first++
	}
	last := req.Last()
	for i := c.first; i < len(c.entries); i++ {
		if e := &c.entries[i]; !c.isUsedUp(i) && e.isFor(req) && last.Contains(e.Contains) {
			c.used[i]++
			return i, c.used[i] - 1
		}
	}
	return -1, 0
}

func (c *Client) isUsedUp(i int) bool {
	times := c.entries[i].Times
	return times != Always && c.used[i] >= max(times, 1)
}

// isFor reports whether the entry matches the caller. A node may be named by the last part of its
// path, as people see it.
func (e *Entry) isFor(req model.Request) bool {
	switch e.Agent {
	case "", req.Agent, req.Node:
		return true
	}
	n := len(req.Node) - len(e.Agent) - 1
	return n >= 0 && req.Node[n] == '/' && req.Node[n+1:] == e.Agent
}

// Unused returns the numbers of the entries that were never used, in order.
func (c *Client) Unused() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []int
	for i, n := range c.used {
		if n == 0 {
			out = append(out, i+1)
		}
	}
	return out
}

// calls returns the entry's tool calls with ids that are unique across all uses of all entries and
// do not occur in the conversation of req, whose start may have been answered by another script.
func (e *Entry) calls(source, use int, req model.Request) []chat.ToolCall {
	isTaken := func(id string) bool {
		return slices.ContainsFunc(req.Messages, func(m chat.Message) bool {
			return slices.ContainsFunc(m.ToolCalls, func(c chat.ToolCall) bool { return c.ID == id })
		})
	}
	out := slices.Clone(e.ToolCalls)
	for i := range out {
		if out[i].ID != "" {
			continue
		}
		id := fmt.Sprintf("call_%d_%d_%d", source, use+1, i+1)
		for n := 2; isTaken(id); n++ {
			id = fmt.Sprintf("call_%d_%d_%d_%d", source, use+1, i+1, n)
		}
		out[i].ID = id
	}
	return out
}

func (e *Entry) stop() model.StopReason {
	switch {
	case e.StopReason != "":
		return e.StopReason
	case len(e.ToolCalls) > 0:
		return model.StopToolCalls
	}
	return model.StopEnd
}

// noReply describes what was requested and what the script had.
func (c *Client) noReply(req model.Request) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	who := req.Agent
	if who == "" {
		who = req.Node
	}
	msg := fmt.Sprintf("the reply script has no reply for agent %q", who)
	if req.Node != "" && req.Node != who {
		msg += fmt.Sprintf(" at node %q", req.Node)
	}
	fits, usedUp := 0, 0
	for i := range c.entries {
		if c.entries[i].isFor(req) {
			fits++
			if c.isUsedUp(i) {
				usedUp++
			}
		}
	}
	switch fits {
	case 0:
		msg += ": no entry matches" + c.others()
	case usedUp:
		msg += fmt.Sprintf(": all %d matching entries are used", fits)
	default:
		msg += fmt.Sprintf(": %d entries match, %d of them are used, and the others need another message", fits, usedUp)
	}
	return msg + fmt.Sprintf(" (last message: %q)", shorten(req.LastText()))
}

// others returns the agents for which there are entries, so that a misspelling is visible, or "" if
// there are none.
func (c *Client) others() string {
	const most = 5
	var names []string
	for i := range c.entries {
		name := strconv.Quote(c.entries[i].Agent)
		switch {
		case slices.Contains(names, name):
		case len(names) == most:
			return "; there are entries for " + strings.Join(names, ", ") + " and others"
		default:
			names = append(names, name)
		}
	}
	if names == nil {
		return ""
	}
	return "; there are entries for " + strings.Join(names, ", ")
}

// shorten returns the start of a string on one line.
func shorten(s string) string {
	const limit = 120
	r := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(len(s), 8*limit)], "")), " "))
	if len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(r)
}

// stream sends a reply as deltas, as a provider would: text in a few chunks, each tool call whole.
func stream(r model.Reply, onDelta func(model.Delta)) {
	for piece := range pieces(r.Reasoning) {
		onDelta(model.Delta{Reasoning: piece})
	}
	for piece := range pieces(r.Message.Text.String()) {
		onDelta(model.Delta{Text: piece})
	}
	for i, c := range r.Message.ToolCalls {
		onDelta(model.Delta{ToolCall: &model.ToolCallDelta{Index: i, ID: c.ID, Name: c.Name,
			Arguments: string(c.Arguments)}})
	}
}

// pieces splits a string into at most four parts at rune boundaries.
func pieces(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		size := len(s)/4 + 1
		for len(s) > 0 {
			n := min(size, len(s))
			for n < len(s) && s[n]&0xC0 == 0x80 { // inside a rune
				n++
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}
