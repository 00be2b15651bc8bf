package llm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/model"
)

// entry is a message of the conversation.
type entry struct {
	msg chat.Message
	// digest of msg, so that the key of a model call can be computed without rereading the whole
	// conversation
	digest [sha256.Size]byte
}

func entryOf(m chat.Message) entry { return entry{msg: m, digest: digest(m)} }

func (s *session) compact(ctx context.Context) error { return s.shorten(ctx, compact.MinFresh) }

// shorten replaces the removable groups with a summary, if there are at least least of them.
func (s *session) shorten(ctx context.Context, least int) error {
	msgs := s.messages()
	left, fresh := compact.Split(msgs,
		compact.Options{Keep: s.cfg.KeepGroups, MaxTail: s.window / 4 * compact.BytesPerToken})
	if fresh < least {
		return nil
	}
	text, err := s.summary(ctx, compact.Transcript(msgs, left))
	if err != nil {
		return fmt.Errorf("summarize the conversation: %w", err)
	}
	var conv []entry
	for _, m := range compact.Replace(msgs, left, compact.Summary(text)) {
		conv = append(conv, entryOf(m))
	}
	s.cfg.Logger.Info("compaction", "session", s.id, "before", len(s.conv), "after", len(conv))
	s.memo.Keep(nil) // it refers to what was removed
	s.conv, s.usage = conv, nil
	return nil
}

// summary asks the model for a summary.
func (s *session) summary(ctx context.Context, ask chat.Message) (string, error) {
	a, err := s.call(ctx, "summary", digest(ask.Text.String()), model.Request{
		Model: s.model, System: compact.Prompt, Agent: s.agent, Node: s.node, Messages: []chat.Message{ask},
	})
	switch {
	case err != nil:
		return "", err
	case a.Stop == model.StopRefusal:
		return "", errors.New("the model declined: " + a.Message.Text.String())
	case a.Message.Text.IsBlank():
		return "", errors.New("the model returned an empty summary")
	}
	return a.Message.Text.String(), nil
}
