package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
)

// largestWindow bounds what a model may report whose window is not known: no window is larger.
const largestWindow = 16 << 20

// Figures of estimates: a token has about three bytes, and a message has some tokens beside its text.
const (
	bytesPerToken    = 3
	tokensPerMessage = 4
	tokensPerCall    = 16
)

// WithUsage checks what the calls of c report as their usage. Usage that cannot be is replaced by an estimate, that of a failed call by none, and Reply.UsageEstimated, or that of
// *Error, says why (P20). It is the one place where reported usage enters Hocket: everything behind it may add such counts up.
//
// ref gives the full reference of a model by the name that a request has for it; nil: that name.
func WithUsage(c Client, ref func(string) string) Client { return &counted{c, ref} }

type counted struct {
	client Client
	ref    func(string) string
}

// Call implements Client.
func (c *counted) Call(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error) {
	reply, err := c.client.Call(ctx, req, onDelta)
	ref := req.Model
	if c.ref != nil {
		ref = c.ref(ref)
	}
	if failed, ok := errors.AsType[*Error](err); ok && failed.Usage != nil {
		if _, why := CheckUsage(*failed.Usage, req, Reply{}, ref); why != "" {
			with := *failed
			with.Usage, with.UsageEstimated = nil, why // what a failed call gave is not known either: it counts as all that it may have used
			return reply, &with
		}
	}
	if err == nil && reply.Usage != nil {
		if u, why := CheckUsage(*reply.Usage, req, reply, ref); why != "" {
			reply.Usage, reply.UsageEstimated = &u, why
		}
	}
	return reply, err
}

// CheckUsage gives the usage that counts for a call: u, or an estimate where u cannot be, with the reason. Counts cannot be negative, parts not larger than their whole, and neither input
// nor output larger than both the model's window and the bytes that were sent or received: no token has less than a byte, but providers add to prompts and hide reasoning. A text of no tokens cannot be either.
func CheckUsage(u chat.Usage, req Request, reply Reply, ref string) (checked chat.Usage, why string) {
	sent, received := sentBytes(req), receivedBytes(reply)
	window := int64(Window(ref))
	if window <= 0 {
		window = largestWindow
	}
	switch {
	case min(u.InputTokens, u.OutputTokens, u.CachedTokens, u.CacheWriteTokens, u.ReasoningTokens) < 0:
		why = "a count of tokens is negative"
	case u.InputTokens == 0 && sent > 0 && (received > 0 || u.OutputTokens > 0): // also what is left of numbers that an SDK could not read
		why = fmt.Sprintf("no input tokens for %d bytes that were sent", sent)
	case u.OutputTokens == 0 && received > 0:
		why = fmt.Sprintf("no output tokens for %d bytes that were received", received)
	case u.InputTokens > max(window, sent):
		why = fmt.Sprintf("%d input tokens exceed the model's window of %d and the %d bytes that were sent", u.InputTokens, window, sent)
	case u.OutputTokens > max(window, received):
		why = fmt.Sprintf("%d output tokens exceed the model's window of %d and the %d bytes that were received", u.OutputTokens, window, received)
	case u.CachedTokens > u.InputTokens || u.CacheWriteTokens > u.InputTokens-u.CachedTokens:
		why = fmt.Sprintf("%d tokens from the cache and %d into it exceed the %d input tokens", u.CachedTokens, u.CacheWriteTokens, u.InputTokens)
	case u.ReasoningTokens > u.OutputTokens:
		why = fmt.Sprintf("%d reasoning tokens exceed the %d output tokens", u.ReasoningTokens, u.OutputTokens)
	default:
		return u, ""
	}
	return chat.Usage{InputTokens: EstimateInput(req), OutputTokens: (received + bytesPerToken - 1) / bytesPerToken}, why
}

// EstimateInput guesses how many tokens of input a request has.
func EstimateInput(req Request) int64 {
	return sentBytes(req)/bytesPerToken + int64(len(req.Messages))*tokensPerMessage + tokensPerCall
}

// sentBytes counts the texts of a request.
func sentBytes(req Request) int64 {
	size := len(req.System)
	for i := range req.Messages {
		size += messageBytes(&req.Messages[i])
	}
	for _, d := range req.Tools {
		size += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	if req.Schema != nil {
		size += len(req.Schema.JSON)
	}
	return int64(size)
}

func receivedBytes(r Reply) int64 { return int64(messageBytes(&r.Message) + len(r.Reasoning)) }

func messageBytes(m *chat.Message) int {
	size := int(m.Text.Len()) + len(m.Name) + len(m.ToolName) + len(m.Extra)
	for _, tc := range m.ToolCalls {
		size += len(tc.Name) + len(tc.Arguments) + len(tc.Extra)
	}
	return size
}
