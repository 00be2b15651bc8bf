package run_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

const innerDoc = `
agents:
  Poet: {model: openai/x, instruction: Write.}
  Critic: {model: openai/x, instruction: Judge.}
workflow:
  - {type: agent, name: Poet}
  - {type: agent, name: Critic}
`

const outerDoc = `
agents:
  Boss:
    model: openai/x
    toolsets:
      - {type: workflow, workflow: inner, tool: ask_poets, description: Lets poets write.}
`

// onDisk opens a service on the store in dir.
func onDisk(t *testing.T, dir string) *service.Service {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: filepath.Join(dir, "hocket.db"),
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func storeAs(t *testing.T, s *service.Service, id, text string) {
	t.Helper()
	if _, ds := applyText(t, s, id+".yaml", text, false); ds.HasErrors() {
		t.Fatal(ds)
	}
}

func startText(t *testing.T, s *service.Service, run, text, replies string) {
	t.Helper()
	w, ds, err := s.Load(t.Context(), run+".yaml", []byte(text), service.LoadOptions{})
	if err != nil || ds.HasErrors() {
		t.Fatal(err, ds)
	}
	if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, Input: "go", RunID: run,
		Files: service.Files{Replies: []byte(replies)}}); err != nil {
		t.Fatal(err)
	}
}

func ended(t *testing.T, s *service.Service, run string) project.Run {
	t.Helper()
	if _, err := s.Wait(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	o, err := s.Show(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func childrenOf(t *testing.T, s *service.Service, run string) []journal.Head {
	t.Helper()
	heads, _, err := s.List(t.Context(), journal.Query{Parent: run})
	if err != nil {
		t.Fatal(err)
	}
	return heads
}

// TestWorkflowTool checks that a stored workflow can be a tool of an agent. It runs once, as a
// child run of the calling run, and its output, not the message of a failure, reaches the agent
// (P30).
func TestWorkflowTool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, inner, want, status string }{
		{"output", "text: A fine poem.", "A fine poem.", "completed"},
		{"failure", "error: {code: overloaded, message: too busy}", "Workflow inner failed in run", "failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			storeAs(t, s, "inner", innerDoc)
			startText(t, s, "r", outerDoc, fmt.Sprintf(`
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, contains: on rain, text: Rain.}
  - {agent: Critic, %s}
  - {agent: Boss, contains: %q, text: Done.}
`, test.inner, test.want))
			o := ended(t, s, "r")
			if o.Status != event.StatusCompleted || string(o.Output) != `"Done."` {
				t.Fatalf("status %s, output %s, error %v", o.Status, o.Output, o.Error)
			}
			heads := childrenOf(t, s, "r")
			if len(heads) != 1 || string(heads[0].Status) != test.status || heads[0].Run == "r" {
				t.Fatalf("runs below: %+v", heads)
			}
			if c, err := s.Show(t.Context(), heads[0].Run); err != nil || c.ParentRun == nil || *c.ParentRun != "r" ||
				c.Workflow.Version == nil {
				t.Errorf("the run below: %v, %+v", err, c)
			}
		})
	}
}

// TestWorkflowToolAfterRestart checks that a run that is interrupted while a workflow runs as its
// tool finds it again: no model call of either run is repeated (P3, P12).
func TestWorkflowToolAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := onDisk(t, dir)
	storeAs(t, s, "inner", innerDoc)
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, text: Rain.}
  - {agent: Critic, text: Slow., delayMs: 600000}
  - {agent: Boss, text: Done.}
`)
	await(t, func() bool {
		for _, h := range childrenOf(t, s, "r") {
			if o, err := s.Show(t.Context(), h.Run); err == nil && len(o.Steps) == 2 {
				return true
			}
		}
		return false
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = onDisk(t, dir)
	defer s.Close()
	quick := []byte("replies:\n  - {agent: Critic, text: Good.}\n  - {agent: Boss, contains: Good., text: Done.}\n")
	if err := s.Give("r", service.Files{Replies: quick}); err != nil {
		t.Fatal(err)
	}
	if err := s.Resume(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	o := ended(t, s, "r")
	// two of Boss, and those of the child run
	if o.Status != event.StatusCompleted || o.Usage.ModelCalls != 4 || o.Usage.ToolCalls != 1 {
		t.Fatalf("status %s, %+v, error %v", o.Status, o.Usage, o.Error)
	}
	heads := childrenOf(t, s, "r")
	if len(heads) != 1 {
		t.Fatalf("runs below: %+v", heads)
	}
	if c := ended(t, s, heads[0].Run); c.Status != event.StatusCompleted || len(c.Steps) != 2 {
		t.Errorf("the run below: %+v", c)
	}
}

// await waits until the condition holds, up to the test's own timeout.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never happened")
		}
	}
}

// TestWorkflowToolNests checks that a workflow that calls itself ends at a limit that its error
// names, with more runs waiting for each other than there are slots.
func TestWorkflowToolNests(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory, MaxCalls: 2,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	self := strings.ReplaceAll(outerDoc, "workflow: inner", "workflow: self")
	storeAs(t, s, "self", self)
	startText(t, s, "r", self, `
replies:
  - {agent: Boss, contains: max_nesting, text: Too deep.}
  - {agent: Boss, contains: Too deep, text: Too deep., times: always}
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: again}}], times: always}
`)
	o := ended(t, s, "r")
	if o.Status != event.StatusCompleted || string(o.Output) != `"Too deep."` {
		t.Fatalf("status %s, output %s, error %v", o.Status, o.Output, o.Error)
	}
}

// TestWorkflowToolCancel checks that cancelling a run cancels the workflow that runs as its tool
// (P11).
func TestWorkflowToolCancel(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	storeAs(t, s, "inner", innerDoc)
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, text: Slow., delayMs: 600000}
`)
	await(t, func() bool { return len(childrenOf(t, s, "r")) == 1 })
	if err := s.Cancel(t.Context(), "r", "enough"); err != nil {
		t.Fatal(err)
	}
	if o := ended(t, s, "r"); o.Status != event.StatusCancelled {
		t.Errorf("status %s", o.Status)
	}
	if o := ended(t, s, childrenOf(t, s, "r")[0].Run); o.Status != event.StatusCancelled {
		t.Errorf("the run below is %s", o.Status)
	}
}

// TestWorkflowToolUnknown checks that a workflow that is not stored offers no tool, and that a call
// reports why.
func TestWorkflowToolUnknown(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Boss, contains: "Workflow not found: inner", text: I see.}
`)
	if o := ended(t, s, "r"); string(o.Output) != `"I see."` {
		t.Errorf("output %s, error %v", o.Output, o.Error)
	}
}

// TestWorkflowToolWaits checks that a workflow that waits for a person pauses the run that called
// it, which mirrors the wait and continues with the result (P8).
func TestWorkflowToolWaits(t *testing.T) {
	t.Parallel()
	gated := `{"nodes": [{"id": "s", "type": "start", "x": 0, "y": 0, "data": {}}, {"id": "ok", "type": "approval", ` +
		`"x": 0, "y": 0, "data": {"prompt": "Really?"}},
		{"id": "a", "type": "agent", "x": 0, "y": 0, "data": {"agentName": "Poet"}}],
		"connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "a", "sourceHandle": "approve"}]}`
	for _, test := range []struct{ name, below, want string }{
		{"answered there first", "approve", "Rain."},
		{"answered here", "", "Rain."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			apply(t, s, service.ApplyRequest{ID: "inner",
				Documents: []service.Document{{File: "inner.json", Data: []byte(gated)}}})
			startText(t, s, "r", outerDoc, fmt.Sprintf(`
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, text: Rain.}
  - {agent: Boss, contains: %q, text: Done.}
`, test.want))
			o := ended(t, s, "r")
			below := childrenOf(t, s, "r")
			if o.Status != event.StatusPaused || len(o.Waiting) != 1 || len(below) != 1 ||
				o.Waiting[0].Prompt != "Really?" {
				t.Fatalf("status %s, waiting %+v, below %+v", o.Status, o.Waiting, below)
			}
			if test.below != "" {
				answerYes(t, s, below[0].Run)
				ended(t, s, below[0].Run)
			}
			answerYes(t, s, "r")
			if o = ended(t, s, "r"); string(o.Output) != `"Done."` {
				t.Errorf("status %s, output %s, error %v", o.Status, o.Output, o.Error)
			}
		})
	}
}

func answerYes(t *testing.T, s *service.Service, run string) {
	t.Helper()
	if err := s.Answer(t.Context(), run, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: event.Value(`"approve"`)}); err != nil {
		t.Fatal(err)
	}
}

// TestStoredDocument_ProgramAgents checks that a stored document can name agents of the program as
// a file can, even if a tool or a schedule loads it.
func TestStoredDocument_ProgramAgents(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory, Env: func(string) string {
			return ""
		}, Agents: []workflow.Agent{{ID: "Poet", Model: "openai/x", System: "Write."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, problems := apply(t, s, service.ApplyRequest{
		ID: "inner", LoadOptions: service.LoadOptions{Agents: []workflow.Agent{{ID: "Poet"}}},
		Documents: []service.Document{{File: "inner.yaml",
			Data: []byte("agents: {Other: {model: openai/x}}\nworkflow: [{type: agent, name: Poet}]\n")}},
	})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, toolCalls: [{name: ask_poets, arguments: {input: on rain}}]}
  - {agent: Poet, text: Rain.}
  - {agent: Boss, contains: Rain., text: Done.}
`)
	if o := ended(t, s, "r"); string(o.Output) != `"Done."` {
		t.Errorf("output %s, error %v", o.Output, o.Error)
	}
}

// SEC17: a workflow that calls itself many times in each reply does not fill the server with runs:
// beyond a limit on the descendants of one run its calls fail with an error that names the limit, a
// concurrent run continues, and later runs start with a fresh count.
func TestWorkflowTool_RunLimit(t *testing.T) {
	t.Parallel()
	const most = 20
	s := inMemory(t)
	s.SetMaxFamily(most)
	self := strings.ReplaceAll(outerDoc, "workflow: inner", "workflow: self")
	storeAs(t, s, "self", self)
	storeAs(t, s, "inner", innerDoc)
	for _, run := range []string{"r1", "r2"} {
		startText(t, s, run, self, `
replies:
  - {agent: Boss, contains: max_family, text: Too many., times: always}
  - {agent: Boss, contains: Too many, text: Too many., times: always}
  - {agent: Boss, toolCalls: [{id: a, name: ask_poets, arguments: {input: a}}, {id: b, name: ask_poets, arguments: `+
			`{input: b}}, {id: c, name: ask_poets, arguments: {input: c}}], times: always}
`)
		if o := ended(t, s, run); o.Status != event.StatusCompleted || string(o.Output) != `"Too many."` {
			t.Errorf("run %s: status %s, output %s, error %v", run, o.Status, o.Output, o.Error)
		}
	}
	heads, _, err := s.List(t.Context(), journal.Query{Limit: 1000})
	if err != nil || len(heads) < 4 || len(heads) > 2*(most+1) {
		t.Errorf("there are %d runs, %v; want at most %d and those at the top", len(heads), err, 2*most)
	}
}

// SEC17: the child runs of one run, at any depth, are counted from the store: while they wait for
// people and after the process has ended, the same limit holds. Either of the two concurrent
// calls may be the refused one, so the last result is that of a run or of the limit.
func TestWorkflowTool_RunLimitRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := onDisk(t, dir)
	s.SetMaxFamily(4)
	storeAs(t, s, "leaf", "agents: {Leaf: {model: openai/x}}\nworkflow: [{type: agent, name: Leaf}]\n")
	storeAs(t, s, "inner", `
agents:
  Mid: {model: openai/x, toolsets: [{type: user_prompt}, {type: workflow, workflow: leaf, tool: ask_leaf}]}
`)
	startText(t, s, "r", outerDoc, `
replies:
  - {agent: Boss, contains: seen, text: Done., times: always}
  - {agent: Boss, toolCalls: [{id: a, name: ask_poets, arguments: {input: a}}, {id: b, name: ask_poets, arguments: `+
		`{input: b}}, {id: c, name: ask_poets, arguments: {input: c}}], times: always}
  - {agent: Mid, contains: max_family, text: Too many were seen., times: always}
  - {agent: Mid, contains: Green, text: Too many were seen., times: always}
  - {agent: Mid, contains: yes-please, toolCalls: [{id: x, name: ask_leaf, arguments: {input: x}}, `+
		`{id: y, name: ask_leaf, arguments: {input: y}}], times: always}
  - {agent: Mid, toolCalls: [{id: q, name: user_prompt, arguments: {message: "Go on?"}}], times: always}
  - {agent: Leaf, text: Green., times: always}
`)
	if o := ended(t, s, "r"); o.Status != event.StatusPaused || len(childrenOf(t, s, "r")) != 3 {
		t.Fatalf("status %s, %d runs below, error %v", o.Status, len(childrenOf(t, s, "r")), o.Error)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = onDisk(t, dir)
	defer s.Close()
	s.SetMaxFamily(4)
	child := childrenOf(t, s, "r")[0].Run
	if err := s.Answer(t.Context(), child, service.AnswerRequest{By: event.LocalBy(event.ChannelProgram),
		Value: event.Value(`"yes-please"`)}); err != nil {
		t.Fatal(err)
	}
	if o := ended(t, s, child); string(o.Output) != `"Too many were seen."` || len(childrenOf(t, s, child)) != 1 {
		t.Errorf("output %s, %d runs below, error %v; want one run, and one call that the limit refused", o.Output,
			len(childrenOf(t, s, child)), o.Error)
	}
}
