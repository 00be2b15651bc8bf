package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// line is one reply of a fake model.
type line struct {
	text  string
	tools []chat.ToolCall
	fail  *model.Error
	gate  <-chan struct{} // the reply waits until it is closed, unless the call is cancelled
	delay time.Duration
}

func say(text string) line { return line{text: text} }

func fail(kind model.ErrorKind, message string) line {
	return line{fail: &model.Error{Kind: kind, Message: message}}
}

// use returns a reply that calls tools: alternating names and arguments.
func use(nameAndArguments ...string) line {
	var l line
	for i := 0; i < len(nameAndArguments); i += 2 {
		l.tools = append(l.tools,
			chat.ToolCall{Name: nameAndArguments[i], Arguments: json.RawMessage(nameAndArguments[i+1])})
	}
	return l
}

func (l line) behind(gate <-chan struct{}) line {
	l.gate = gate
	return l
}

// slow makes the reply take a second of fake time, so that it comes after all immediate ones.
func (l line) slow() line {
	l.delay = time.Second
	return l
}

// fake is a model that replies with lines by the name of the agent and records every request. An
// agent without lines says `<name> said`; an agent whose lines are used up fails the test. It is
// safe for concurrent use.
type fake struct {
	t *testing.T

	mu    sync.Mutex
	lines map[string][]line
	// invents, if set, returns the reply of agents without lines, from the node and the number of
	// its requests. If nil, they reply `<name> said`.
	invents func(node string, n int) string
	// acts, if set, answers every request, from the number of earlier requests.
	acts func(before int) line
	// replies, if set, answers all agents, from the request and the number of the node's requests.
	replies  func(q model.Request, n int) line
	times    map[string]int // requests by node
	requests []model.Request
	at       []time.Time // times of the requests
	// ended are the agents whose calls ended, in that order, and cancelled those whose calls were
	// cancelled.
	ended, cancelled []string
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, lines: map[string][]line{}, times: map[string]int{}}
}

// plays sets the lines of an agent. `@` and the id of a node stand for the agent of that node only.
func (f *fake) plays(agent string, lines ...line) *fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines[agent] = append(f.lines[agent], lines...)
	return f
}

// says sets text replies of an agent.
func (f *fake) says(agent string, texts ...string) *fake {
	for _, text := range texts {
		f.plays(agent, say(text))
	}
	return f
}

// Call implements model.Client.
func (f *fake) Call(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	l := f.next(req)
	if l.gate != nil || l.delay > 0 {
		var timer <-chan time.Time
		if l.delay > 0 {
			timer = time.After(l.delay)
		}
		select {
		case <-l.gate:
		case <-timer:
		case <-ctx.Done():
			f.mu.Lock()
			f.cancelled = append(f.cancelled, req.Agent)
			f.mu.Unlock()
			return model.Reply{}, ctx.Err()
		}
	}
	f.mu.Lock()
	f.ended = append(f.ended, req.Agent)
	f.mu.Unlock()
	if l.fail != nil {
		return model.Reply{}, l.fail
	}
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(l.text), ToolCalls: l.tools},
		Model: req.Model}, nil
}

func (f *fake) next(req model.Request) line {
	f.mu.Lock()
	defer f.mu.Unlock()
	req.Messages = slices.Clone(req.Messages)
	f.requests = append(f.requests, req)
	f.at = append(f.at, time.Now())
	f.times[req.Node]++
	if f.acts != nil {
		return f.acts(len(f.requests) - 1)
	}
	if f.replies != nil {
		return f.replies(req, f.times[req.Node])
	}
	who := "@" + req.Node
	if _, ok := f.lines[who]; !ok {
		who = req.Agent
	}
	lines, scripted := f.lines[who]
	switch {
	case !scripted && f.invents != nil:
		return say(f.invents(req.Node, f.times[req.Node]))
	case !scripted:
		return say(req.Agent + " said")
	case len(lines) == 0:
		f.t.Errorf("agent %s was asked once more than its script knows: %q", req.Agent, req.LastText())
		return fail(model.KindNoReply, "the script is used up")
	}
	f.lines[who] = lines[1:]
	return lines[0]
}

// asked returns the agents in the order of their calls.
func (f *fake) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := []string{}
	for _, q := range f.requests {
		out = append(out, q.Agent)
	}
	return out
}

// askedSorted returns the agents sorted by name, for concurrent calls.
func (f *fake) askedSorted() []string {
	out := f.asked()
	slices.Sort(out)
	return out
}

// pauses returns the time between each request and the previous one.
func (f *fake) pauses() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []time.Duration
	for i := 1; i < len(f.at); i++ {
		out = append(out, f.at[i].Sub(f.at[i-1]))
	}
	return out
}

// over returns the agents whose calls were answered, in that order, and the agents whose calls were
// cancelled.
func (f *fake) over() (answered, cut []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ended), slices.Clone(f.cancelled)
}

// of returns the requests of one agent.
func (f *fake) of(agent string) []model.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []model.Request
	for _, q := range f.requests {
		if q.Agent == agent {
			out = append(out, q)
		}
	}
	return out
}

// prompts returns the last message of every request of one agent.
func (f *fake) prompts(agent string) []string {
	var out []string
	for _, q := range f.of(agent) {
		out = append(out, q.LastText())
	}
	return out
}

// request returns the only request of an agent.
func (f *fake) request(agent string) model.Request {
	f.t.Helper()
	qs := f.of(agent)
	if len(qs) != 1 {
		f.t.Fatalf("agent %s was asked %d times, want once; asked were %v", agent, len(qs), f.asked())
	}
	return qs[0]
}

// prompt returns the last message of the only request of an agent.
func (f *fake) prompt(agent string) string {
	f.t.Helper()
	q := f.request(agent)
	return q.LastText()
}

// tools returns the names of the tools that a request offered.
func tools(q model.Request) []string {
	out := []string{}
	for _, d := range q.Tools {
		out = append(out, d.Name)
	}
	return out
}

// transcript returns the messages of a request, one per line.
func transcript(q model.Request) []string {
	var out []string
	for _, m := range q.Messages {
		s := fmt.Sprintf("%s: %s", m.Role, m.Text.String())
		for _, c := range m.ToolCalls {
			s += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		out = append(out, s)
	}
	return out
}
