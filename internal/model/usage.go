package model

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
)

// largestWindow is the limit for the reported usage of a model with an unknown window: no window is
// larger.
const largestWindow = 16 << 20

// Constants for estimates: a token has about three bytes, and a message has some tokens in addition
// to its text.
const (
	bytesPerToken    = 3
	tokensPerMessage = 4
	tokensPerCall    = 16
)

// WithUsage checks the usage reported by the calls of c. Implausible usage is replaced with an
// estimate, or discarded for a failed call, and Reply.UsageEstimated, or the same field of *Error,
// holds the reason (P20). It is the one place where reported usage enters Hocket: all code after it
// may sum such counts.
//
// ref returns the full reference of a model for its name in a request; nil means the name itself.
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
			// the usage of a failed call is then unknown: it counts as the most that the call may
			// have used
			with.Usage, with.UsageEstimated = nil, why
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

// CheckUsage returns the usage that counts for a call: u, or an estimate if u is implausible, with
// the reason. Counts cannot be negative, parts not larger than their whole, and neither input nor
// output larger than both the model's window and the number of bytes sent or received: no token has
// less than a byte, but providers add to prompts and hide reasoning. Non-empty text with zero
// tokens is implausible too.
func CheckUsage(u chat.Usage, req Request, reply Reply, ref string) (checked chat.Usage, why string) {
	sent, received := sentBytes(req), receivedBytes(reply)
	window := int64(Window(ref))
	if window <= 0 {
		window = largestWindow
	}
	switch {
	case min(u.InputTokens, u.OutputTokens, u.CachedTokens, u.CacheWriteTokens, u.ReasoningTokens) < 0:
		why = "a count of tokens is negative"
	case u.InputTokens == 0 && sent > 0 && (received > 0 || u.OutputTokens > 0):
		// also the result of numbers that an SDK could not read
		why = fmt.Sprintf("no input tokens for %d bytes that were sent", sent)
	case u.OutputTokens == 0 && received > 0:
		why = fmt.Sprintf("no output tokens for %d bytes that were received", received)
	case u.InputTokens > max(window, sent):
		why = fmt.Sprintf("%d input tokens exceed the model's window of %d and the %d bytes that were sent",
			u.InputTokens, window, sent)
	case u.OutputTokens > max(window, received):
		why = fmt.Sprintf("%d output tokens exceed the model's window of %d and the %d bytes that were received",
			u.OutputTokens, window, received)
	case u.CachedTokens > u.InputTokens || u.CacheWriteTokens > u.InputTokens-u.CachedTokens:
		why = fmt.Sprintf("%d tokens from the cache and %d into it exceed the %d input tokens", u.CachedTokens,
			u.CacheWriteTokens, u.InputTokens)
	case u.ReasoningTokens > u.OutputTokens:
		why = fmt.Sprintf("%d reasoning tokens exceed the %d output tokens", u.ReasoningTokens, u.OutputTokens)
	default:
		return u, ""
	}
	return chat.Usage{InputTokens: EstimateInput(req), OutputTokens: (received + bytesPerToken - 1) / bytesPerToken},
		why
}

// EstimateInput returns an estimate of the number of input tokens of a request.
func EstimateInput(req Request) int64 {
	return sentBytes(req)/bytesPerToken + int64(len(req.Messages))*tokensPerMessage + tokensPerCall
}

// sentBytes returns the total length of the strings of a request.
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
