package llm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/model"
)

// session implements graph.Session. It must be used by one goroutine at a time.
type session struct {
	cfg         Config
	id, key     string
	agent, node string
	model       string
	system      string
	tools       []chat.ToolDef
	window      int
	destroyed   bool

	conv []entry
	// calls counts model calls, tool calls and summaries; the count is part of their keys.
	calls int
	// usage is the usage that the last reply reported; it is nil if the reply reported none or if
	// the conversation has changed since. asked reports whether there was a reply.
	usage *chat.Usage
	asked bool
	// sig and same detect repeated calls: same counts identical calls in a row.
	sig  string
	same int
	// memo is the client's state for the conversation between calls.
	memo model.Memo
}

var errDestroyed = errors.New("the session was destroyed")

func (s *session) ID() string { return s.id }

// Stream implements graph.Session. Errors are *model.Error for a failed call, and *graph.StopError
// for refusal, max_tokens, max_turns and no_progress. If the first call for a message fails, the
// message counts as not sent.
func (s *session) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		if err := s.turn(ctx, message, func(m graph.AgentMessage) bool { return yield(m, nil) }); err != nil &&
			!errors.Is(err, errReaderStopped) {
			yield(graph.AgentMessage{}, err)
		}
	}
}

// errReaderStopped is the error of a turn whose reader left the loop over the messages.
var errReaderStopped = errors.New("the reader stopped")

func (s *session) turn(ctx context.Context, message string, yield func(graph.AgentMessage) bool) error {
	if s.destroyed {
		return errDestroyed
	}
	s.answerPendingCalls()
	if s.fuller(compactAt) {
		if err := s.compact(ctx); err != nil {
			if ctx.Err() != nil {
				return err
			}
			// There is room left, so the turn need not fail; compaction is tried again before the
			// room is used up.
			s.cfg.Logger.Warn("compaction failed", "session", s.id, "error", err)
		}
	}
	before := len(s.conv)
	s.conv = append(s.conv, entryOf(chat.Message{Role: chat.RoleUser, Text: chat.NewText(message)}))
	s.sig, s.same = "", 0
	for n := range s.cfg.MaxTurns {
		if n > 0 && s.fuller(exhaustedAt) {
			if err := s.compact(ctx); err != nil {
				return err
			}
		}
		a, err := s.ask(ctx)
		if err != nil {
			if n == 0 {
				s.conv = s.conv[:before]
			}
			return err
		}
		done, err := s.deliver(ctx, a, yield)
		if done || err != nil {
			return err
		}
	}
	return &graph.StopError{Reason: graph.StopMaxTurns, Message: fmt.Sprintf("%d model calls for one message",
		s.cfg.MaxTurns)}
}

// answer is the recorded part of a reply.
type answer struct {
	Message   chat.Message     `json:"message"`
	Reasoning string           `json:"reasoning,omitempty"`
	Usage     *chat.Usage      `json:"usage,omitempty"`
	Stop      model.StopReason `json:"stop,omitempty"`
}

func (s *session) ask(ctx context.Context) (answer, error) {
	sums := make([]byte, 0, len(s.conv)*sha256.Size)
	for _, e := range s.conv {
		sums = append(sums, e.digest[:]...)
	}
	a, err := s.call(ctx, "model", digest(s.model, s.system, s.tools, sums), model.Request{
		Model: s.model, System: s.system, Messages: s.messages(), Memo: &s.memo, Tools: s.tools, Params: s.cfg.Params,
		Agent: s.agent, Node: s.node,
	})
	if err != nil {
		return a, err
	}
	s.usage, s.asked = a.Usage, true
	return a, nil
}

// call makes one model call, or returns its recorded result.
func (s *session) call(ctx context.Context, kind string, asked [sha256.Size]byte, req model.Request) (answer, error) {
	s.calls++
	key := stepKey(s.key, kind, s.calls, asked)
	req.IdempotencyKey = stepKey(s.id, kind, s.calls, asked)
	return graph.Once(ctx, key, func(ctx context.Context) (a answer, err error) {
		defer guard("model client", &err)
		models := model.WithTimeouts(s.cfg.Models, s.cfg.ModelTimeout, s.cfg.ModelIdle)
		if s.cfg.Account != nil {
			models = s.cfg.Account(ctx, models, key)
		}
		reply, err := models.Call(ctx, req, nil)
		return answer{Message: reply.Message, Reasoning: reply.Reasoning, Usage: reply.Usage, Stop: reply.StopReason},
			err
	})
}

// deliver passes an answer on and runs its calls. done reports whether the turn has ended.
func (s *session) deliver(ctx context.Context, a answer, yield func(graph.AgentMessage) bool) (done bool, err error) {
	m := a.Message
	if !m.Text.IsZero() || len(m.ToolCalls) > 0 { // providers reject an empty answer in the conversation
		s.conv = append(s.conv, entryOf(m))
	}
	say := func(kind, text string) bool {
		return text == "" || yield(graph.AgentMessage{Type: kind, Role: string(chat.RoleAssistant), Content: text})
	}
	if !say(graph.MessageThinking, a.Reasoning) || !say(graph.MessageText, m.Text.String()) {
		return true, errReaderStopped
	}
	if len(m.ToolCalls) == 0 {
		return true, stopped(a)
	}
	for _, c := range m.ToolCalls {
		if !yield(graph.AgentMessage{
			Type: graph.MessageToolUse, Role: string(chat.RoleAssistant), Tool: c.Name, ToolCallID: c.ID,
			Arguments: slices.Clone(c.Arguments),
		}) {
			return true, errReaderStopped
		}
		s.count(c)
	}
	if s.same >= s.cfg.NoProgress {
		return true, &graph.StopError{
			Reason: graph.StopNoProgress,
			Message: fmt.Sprintf("it called %s with the same arguments %d times", m.ToolCalls[len(m.ToolCalls)-1].Name,
				s.same),
		}
	}
	for _, c := range m.ToolCalls {
		r, err := s.runTool(ctx, c)
		if err != nil {
			return true, err
		}
		s.conv = append(s.conv, entryOf(chat.Message{Role: chat.RoleTool, ToolCallID: c.ID, ToolName: c.Name,
			Text: chat.NewText(r.Text), IsError: r.IsError}))
		if !yield(graph.AgentMessage{
			Type: graph.MessageToolResult, Role: string(chat.RoleTool), Tool: c.Name, ToolCallID: c.ID, Content: r.Text,
			IsError: r.IsError,
		}) {
			return true, errReaderStopped
		}
	}
	return false, nil
}

// stopped returns nil if an answer without calls completes the work, and otherwise an error with
// the reason for the stop.
func stopped(a answer) error {
	switch a.Stop {
	case model.StopRefusal:
		return &graph.StopError{Reason: graph.StopRefusal, Message: a.Message.Text.String()}
	case model.StopLength:
		return &graph.StopError{Reason: graph.StopMaxTokens}
	}
	return nil
}

func (s *session) count(c chat.ToolCall) {
	if sig := c.Name + "\x00" + string(c.Arguments); sig == s.sig {
		s.same++
	} else {
		s.sig, s.same = sig, 1
	}
}

// runTool runs one call, or returns its recorded result. The error is that of ctx, that of the
// journal or graph.ErrUnknownOutcome; all other errors are reported to the model.
func (s *session) runTool(ctx context.Context, c chat.ToolCall) (ToolResult, error) {
	s.calls++
	if !slices.ContainsFunc(s.tools, func(d chat.ToolDef) bool { return d.Name == c.Name }) {
		return ToolResult{Text: fmt.Sprintf("unknown tool %q", c.Name), IsError: true}, nil
	}
	args := bytes.TrimSpace(c.Arguments)
	if len(args) == 0 || string(args) == "null" {
		args = []byte("{}")
	}
	if args[0] != '{' || !json.Valid(args) {
		return ToolResult{Text: "the arguments are not a JSON object", IsError: true}, nil
	}
	asked := digest(c.Name, string(args))
	return graph.Once(ctx, stepKey(s.key, "tool", s.calls, asked), func(ctx context.Context) (ToolResult, error) {
		limited, cancel := context.WithTimeoutCause(ctx, s.cfg.ToolTimeout,
			fmt.Errorf("the tool took longer than %s", s.cfg.ToolTimeout))
		defer cancel()
		r, err := s.callTool(limited, ToolCall{
			Session: s.id, Agent: s.agent, Node: s.node, Name: c.Name, Arguments: slices.Clone(args),
			Key: stepKey(s.id, "tool", s.calls, asked),
		})
		switch {
		case err == nil:
			return r, nil
		case errors.Is(err, graph.ErrUnknownOutcome), errors.Is(err, ErrWithheld):
			return ToolResult{}, err
		case ctx.Err() != nil:
			return ToolResult{}, fmt.Errorf("tool %q: %w", c.Name, errors.Join(context.Cause(ctx), err))
		case limited.Err() != nil:
			err = context.Cause(limited)
		}
		return ToolResult{Text: err.Error(), IsError: true}, nil
	})
}

func (s *session) callTool(ctx context.Context, c ToolCall) (r ToolResult, err error) {
	defer guard(fmt.Sprintf("tool %q", c.Name), &err)
	return s.cfg.Tools.Call(ctx, c)
}

// guard converts a panic in foreign code to an error.
func guard(who string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", who, v)
	}
}

// messages returns the conversation as it is sent to the model.
func (s *session) messages() []chat.Message {
	list := make([]chat.Message, len(s.conv))
	for i, e := range s.conv {
		list[i] = e.msg
	}
	return list
}

// answerPendingCalls adds results for calls that a turn left without one, because no provider
// accepts a call that was never answered.
func (s *session) answerPendingCalls() {
	for _, c := range compact.Unanswered(s.messages()) {
		s.conv = append(s.conv, entryOf(chat.Message{
			Role: chat.RoleTool, ToolCallID: c.ID, ToolName: c.Name,
			Text: chat.NewText("the call was interrupted or never started; its effects are unknown"), IsError: true,
		}))
	}
}

// ContextUsage implements graph.Session. It returns the tokens of the last model call, which the
// next call will contain too: 0 before the first call. MaxTokens is 0 if the window's size is
// unknown. The error is graph.ErrUnknownUsage if the provider reported no usage, and between a
// compaction and the next model call.
func (s *session) ContextUsage(context.Context) (graph.SessionUsage, error) {
	u := graph.SessionUsage{MaxTokens: s.window}
	switch {
	case s.destroyed:
		return u, errDestroyed
	case !s.asked:
		return u, nil
	case s.usage == nil:
		return u, graph.ErrUnknownUsage
	}
	u.InputTokens, u.OutputTokens = int(s.usage.InputTokens), int(s.usage.OutputTokens)
	return u, nil
}

// fuller reports whether the context is known to be fuller than a fraction of its window.
func (s *session) fuller(than float64) bool {
	return s.usage != nil && s.window > 0 && float64(s.usage.InputTokens+s.usage.OutputTokens) > than*float64(s.window)
}

// Summarize implements graph.Session; the package documentation says what a compaction keeps. If
// nothing can be removed, the conversation stays unchanged and Summarize returns nil. It returns
// the error of the model call, or an error for a summary without text; the conversation then stays
// unchanged.
func (s *session) Summarize(ctx context.Context) error {
	if s.destroyed {
		return errDestroyed
	}
	return s.shorten(ctx, 1)
}

// Destroy implements graph.Session.
func (s *session) Destroy(context.Context) error {
	s.memo.Keep(nil)
	s.destroyed, s.conv = true, nil
	return nil
}
