package acp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/hocket-run/hocket/graph"
)

// session implements graph.Session: one process with one conversation. It must be used by one
// goroutine at a time.
type session struct {
	conn   *conn
	peer   *peer
	id     sdk.SessionId
	key    string
	system string // "" once it was sent, and for loaded sessions
	repeat bool
	// sent and summaries count messages and summaries; the counts are part of their keys. lost
	// means that the journal has a session that the agent cannot load; told counts the messages
	// answered from the journal.
	sent, summaries int
	lost            bool
	told            int

	running chan struct{} // holds an element while a turn is running
	unwatch func() bool
	destroy func() error
}

// CreateSession implements graph.Client. It starts the agent in c.Dir and ends it when ctx is done.
//
// c.Model must be a model that the agent offers. The system prompt is sent before the first
// message, because the protocol has no field for it. Agents cannot use Hocket's tools, so c.Tools
// must be empty. The only option is `mode`, the ID of one of the agent's modes.
//
// The error says what happened to the agent: it could not be started, it exited (with its last
// output), it did not answer in time, or it requires a login. The error is graph.ErrNoLoad if
// c.Load is set and the agent cannot load sessions.
func (cl *Client) CreateSession(ctx context.Context, c graph.SessionConfig) (graph.Session, error) {
	if len(c.Tools) > 0 {
		return nil, fmt.Errorf("a coding agent has tools of its own and cannot be given %q", c.Tools[0])
	}
	mode, err := modeOf(c.Options)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the session: %w", err)
	}
	fs, err := openFiles(dir, cl.cfg.ReadFiles, cl.cfg.WriteFiles)
	if err != nil {
		return nil, fmt.Errorf("folder of the session: %w", err)
	}
	p := &peer{cfg: cl.cfg, files: fs, agent: c.Name, node: c.Node}
	limited, cancel := withTimeoutCause(ctx, cl.cfg.StartTimeout)
	defer cancel()
	conn, err := cl.dial(limited, dir, p, fs.capabilities())
	if err != nil {
		fs.close()
		return nil, err
	}
	s := &session{conn: conn, peer: p, key: keyPrefix(cmp.Or(c.Key, c.Name, "session")), system: c.SystemPrompt,
		repeat: cl.cfg.RepeatUnknown, running: make(chan struct{}, 1)}
	s.destroy = sync.OnceValue(func() error {
		err := conn.stop()
		fs.close()
		return err
	})
	s.unwatch = context.AfterFunc(ctx, func() {
		// End a running turn first, so that the agent is told to stop before its input is closed.
		limit := time.NewTimer(cl.cfg.CloseGrace)
		defer limit.Stop()
		select {
		case s.running <- struct{}{}:
		case <-limit.C:
		}
		_ = s.destroy()
	})
	if err := s.start(limited, dir, c, mode); err != nil {
		return nil, errors.Join(err, s.Destroy(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func modeOf(options map[string]any) (mode string, err error) {
	for name, v := range options {
		text, ok := v.(string)
		switch {
		case name != "mode":
			return "", fmt.Errorf("an ACP session has no option %q", name)
		case !ok:
			return "", fmt.Errorf("option %q is not a text", name)
		}
		mode = text
	}
	return mode, nil
}

// start starts a new conversation or resumes an earlier one, and sets the model and the mode.
func (s *session) start(ctx context.Context, dir string, c graph.SessionConfig, mode string) error {
	var o offers
	if c.Load != "" {
		var err error
		if o, err = s.load(ctx, sdk.SessionId(c.Load), dir); err != nil {
			return err
		}
		s.system = ""
	} else if err := s.begin(ctx, dir, &o); err != nil {
		return err
	}
	s.peer.mu.Lock()
	s.peer.session = string(s.id)
	s.peer.mu.Unlock()
	return s.choose(ctx, o, c.Model, mode)
}

// begin starts a new conversation. If the journal has one from before a crash, begin loads that one
// instead, provided that the agent can load sessions (D23).
func (s *session) begin(ctx context.Context, dir string, o *offers) error {
	fresh := func(ctx context.Context) (string, error) {
		r, err := do(ctx, s.conn, func(ctx context.Context) (sdk.NewSessionResponse, error) {
			return s.conn.rpc.NewSession(ctx, sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
		})
		if err == nil && r.SessionId == "" {
			err = errors.New("the agent gave the session no id")
		}
		if err != nil {
			return "", fmt.Errorf("start a session: %w", err)
		}
		s.id, *o = r.SessionId, offers{r.ConfigOptions, r.Models, r.Modes}
		return string(r.SessionId), nil
	}
	former, err := graph.Once(ctx, s.key+"/session", fresh)
	if err != nil || s.id != "" {
		return err
	}
	*o, err = s.load(ctx, sdk.SessionId(former), dir)
	if errors.Is(err, graph.ErrNoLoad) {
		s.lost = true
		_, err = fresh(ctx)
	}
	return err
}

// load resumes an earlier session. The history that the agent replays does not count as the answer
// to a prompt.
func (s *session) load(ctx context.Context, id sdk.SessionId, dir string) (o offers, err error) {
	switch {
	case s.conn.can.LoadSession:
		var r sdk.LoadSessionResponse
		r, err = do(ctx, s.conn, func(ctx context.Context) (sdk.LoadSessionResponse, error) {
			return s.conn.rpc.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: id, Cwd: dir,
				McpServers: []sdk.McpServer{}})
		})
		o = offers{r.ConfigOptions, r.Models, r.Modes}
	case s.conn.can.SessionCapabilities.Resume != nil:
		var r sdk.ResumeSessionResponse
		r, err = do(ctx, s.conn, func(ctx context.Context) (sdk.ResumeSessionResponse, error) {
			return s.conn.rpc.ResumeSession(ctx, sdk.ResumeSessionRequest{SessionId: id, Cwd: dir})
		})
		o = offers{r.ConfigOptions, r.Models, r.Modes}
	default:
		return o, fmt.Errorf("load session %q: %w", id, graph.ErrNoLoad)
	}
	if err != nil {
		return o, fmt.Errorf("load session %q: %w", id, err)
	}
	s.id = id
	return o, nil
}

// ID implements graph.Session. It returns the agent's own ID of the session.
func (s *session) ID() string { return string(s.id) }

// record is the journal's entry for a message that was answered.
type record struct {
	Messages []graph.AgentMessage `json:"messages"`
	Stop     sdk.StopReason       `json:"stop"`
	Left     bool                 `json:"left,omitempty"` // the reader left the loop, so the turn was stopped
}

// Stream implements graph.Session. Errors are *graph.StopError, graph.ErrUnknownOutcome and
// graph.ErrNoLoad after a crash, the error of ctx, and errors for an agent that exited, did not
// answer in time or answered with an error. If the agent exited, the session can no longer be used.
func (s *session) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		if err := s.turn(ctx, message, func(m graph.AgentMessage) bool { return yield(m, nil) }); err != nil &&
			!errors.Is(err, errReaderStopped) {
			yield(graph.AgentMessage{}, err)
		}
	}
}

func (s *session) turn(ctx context.Context, message string, yield func(graph.AgentMessage) bool) error {
	sum := sha256.Sum256([]byte(message))
	s.sent++
	key := fmt.Sprintf("%s/message/%d-%s", s.key, s.sent, hex.EncodeToString(sum[:8]))
	begun, live := false, false
	if _, err := graph.Once(ctx, key+"/begun", func(context.Context) (bool, error) {
		begun = true
		return true, nil
	}); err != nil {
		return err
	}
	r, err := graph.Once(ctx, key, func(ctx context.Context) (record, error) {
		live = true
		switch {
		case !begun && !s.repeat:
			return record{}, fmt.Errorf("session %s: %w", s.id, graph.ErrUnknownOutcome)
		case s.lost && s.told > 0:
			return record{}, fmt.Errorf("session %s does not have the %d earlier messages: %w", s.id, s.told,
				graph.ErrNoLoad)
		}
		return s.answer(ctx, message, yield)
	})
	if err != nil {
		return err
	}
	if !live {
		s.told++
		s.system = ""
		for _, m := range r.Messages {
			if !yield(m) {
				return errReaderStopped
			}
		}
	}
	if r.Left {
		return errReaderStopped
	}
	return stopped(r.Stop)
}

func (s *session) answer(ctx context.Context, message string, yield func(graph.AgentMessage) bool) (record, error) {
	blocks := []sdk.ContentBlock{sdk.TextBlock(message)}
	if s.system != "" {
		blocks = append([]sdk.ContentBlock{sdk.TextBlock(s.system)}, blocks...)
		s.system = ""
	}
	var r record
	var err error
	r.Stop, err = s.send(ctx, blocks, func(m graph.AgentMessage) bool {
		r.Messages = append(r.Messages, m)
		return yield(m)
	})
	if errors.Is(err, errReaderStopped) {
		r.Left, err = true, nil
	}
	return r, err
}

// ContextUsage implements graph.Session. It returns the usage that the agent reported last.
// InputTokens is everything in its context window, because the protocol does not break it down. The
// error is graph.ErrUnknownUsage if the agent has reported nothing yet; many agents never do.
func (s *session) ContextUsage(context.Context) (graph.SessionUsage, error) {
	s.peer.mu.Lock()
	defer s.peer.mu.Unlock()
	if s.peer.usage == nil {
		return graph.SessionUsage{}, graph.ErrUnknownUsage
	}
	return graph.SessionUsage{InputTokens: s.peer.usage.used, MaxTokens: s.peer.usage.size}, nil
}

// summarizers are the commands with which agents summarize their conversation.
var summarizers = []string{"compact", "summarize", "compress"}

// Summarize implements graph.Session using the agent's own command. The error is
// graph.ErrNoSummarize if the agent offers none and the config names none.
func (s *session) Summarize(ctx context.Context) error {
	name := s.conn.cfg.SummarizeCommand
	if name == "" {
		i := slices.IndexFunc(summarizers, s.peer.knows)
		if i < 0 {
			return graph.ErrNoSummarize
		}
		name = summarizers[i]
	}
	s.summaries++
	_, err := graph.Once(ctx, fmt.Sprintf("%s/summary/%d", s.key, s.summaries),
		func(ctx context.Context) (bool, error) {
			s.peer.mu.Lock()
			s.peer.usage = nil // the last reported usage is no longer valid
			s.peer.mu.Unlock()
			reason, err := s.send(ctx, []sdk.ContentBlock{sdk.TextBlock("/" + name)}, func(graph.AgentMessage) bool {
				return true
			})
			if err == nil {
				err = stopped(reason)
			}
			return true, err
		})
	if err != nil {
		return fmt.Errorf("summarize: %w", err)
	}
	return nil
}

// Destroy implements graph.Session. It returns when the agent and its child processes have exited.
func (s *session) Destroy(context.Context) error {
	s.unwatch()
	return s.destroy()
}

// maxPrefix leaves room for the rest of the key after a session's key, within the 256 bytes of a
// graph.Once key.
const maxPrefix = 120

func keyPrefix(key string) string {
	if len(key) <= maxPrefix {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}
