package driver

import (
	"cmp"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// Default limits of one model reply, used if the kit sets none.
const (
	DefaultMaxReplyBytes = 16 << 20
	DefaultMaxReplyCalls = 1000
)

// Failure codes that name the limit that a reply exceeded.
const (
	CodeMaxReplyBytes = "max_reply_bytes"
	CodeMaxReplyCalls = "max_reply_calls"
)

// tooLarge returns a failure for a reply that is too large for the run, or nil. The call is not
// retried: that would cost as much, and most likely return as much.
func (k *RunResources) tooLarge(m chat.Message) *event.Failure {
	n := int(m.Text.Len()) + len(m.Extra)
	for _, c := range m.ToolCalls {
		n += len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Extra)
	}
	if most := cmp.Or(k.MaxReplyCalls, DefaultMaxReplyCalls); len(m.ToolCalls) > most {
		return &event.Failure{Code: CodeMaxReplyCalls,
			Message: fmt.Sprintf("the model asked for %d tool calls in one reply; limit %s of %d reached",
				len(m.ToolCalls), CodeMaxReplyCalls, most)}
	}
	if most := cmp.Or(k.MaxReplyBytes, DefaultMaxReplyBytes); n > most {
		return &event.Failure{Code: CodeMaxReplyBytes,
			Message: fmt.Sprintf("the model's reply has %d bytes; limit %s of %d reached", n, CodeMaxReplyBytes, most)}
	}
	return nil
}
