package driver

import (
	"cmp"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
)

// Bounds of one reply of a model where the kit says none.
const (
	DefaultMaxReplyBytes = 16 << 20
	DefaultMaxReplyCalls = 1000
)

// Codes of failures that say which bound a reply went beyond.
const (
	CodeMaxReplyBytes = "max_reply_bytes"
	CodeMaxReplyCalls = "max_reply_calls"
)

// tooLarge refuses replies that would fill the run; nil where there is none. It is not tried again: that would cost as much, and most likely give as much.
func (k *RunResources) tooLarge(m chat.Message) *engine.Failure {
	n := int(m.Text.Len()) + len(m.Extra)
	for _, c := range m.ToolCalls {
		n += len(c.ID) + len(c.Name) + len(c.Arguments) + len(c.Extra)
	}
	if most := cmp.Or(k.MaxReplyCalls, DefaultMaxReplyCalls); len(m.ToolCalls) > most {
		return &engine.Failure{Code: CodeMaxReplyCalls, Message: fmt.Sprintf("the model asked for %d tool calls in one reply; limit %s of %d reached", len(m.ToolCalls), CodeMaxReplyCalls, most)}
	}
	if most := cmp.Or(k.MaxReplyBytes, DefaultMaxReplyBytes); n > most {
		return &engine.Failure{Code: CodeMaxReplyBytes, Message: fmt.Sprintf("the model's reply has %d bytes; limit %s of %d reached", n, CodeMaxReplyBytes, most)}
	}
	return nil
}
