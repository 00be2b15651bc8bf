package examples_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/equaltest"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// notCompared lists the examples whose journals are not compared, with the reason.
var notCompared = map[string]string{
	"go": "they are programs with graphs of their own functions; internal/sim and the Temporal driver compare " +
		"the journals of random workflows with functions",
	"invoices": "its items run at the same time, so that the order of their events differs; TestExamples looks at " +
		"its output",
	"quorum": "whether its fourth researcher fails or is cancelled depends on which ends first; TestExamples looks " +
		"at its output",
	"server": "its document is a reply script for clients of a server; server_test.go runs it",
}

// TestJournalsAreEqual checks that each example has the same journal on every store, given the same
// replies and answers.
func TestJournalsAreEqual(t *testing.T) { compareExamples(t, equaltest.Embedded()) }

func compareExamples(t *testing.T, drivers []equaltest.Driver) {
	t.Helper()
	folders, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	for _, f := range folders {
		name := f.Name()
		if !f.IsDir() || notCompared[name] != "" {
			continue
		}
		played++
		t.Run(name, func(t *testing.T) {
			if name == "expenses" { // it reads and writes files of the working directory
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
					t.Fatal(err)
				}
				t.Chdir(dir)
			} else {
				t.Parallel()
			}
			want := playExample(t, name, equaltest.Memory())
			for _, d := range drivers {
				t.Run(d.Name, func(t *testing.T) { equaltest.Compare(t, want, playExample(t, name, d)) })
			}
		})
	}
	if played < 12 {
		t.Errorf("only %d examples were played", played)
	}
}

// content reads a file of the example; it returns nil if there is none.
func content(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return data
}

// playExample runs an example to its end, as TestExamples does, and returns the journals of all
// runs.
func playExample(t *testing.T, name string, d equaltest.Driver) map[string][]event.Event {
	t.Helper()
	in := func(file string) string {
		if name == "expenses" {
			return file
		}
		return filepath.Join(name, file)
	}
	docs, err := filepath.Glob(in(name + ".*"))
	if err != nil || len(docs) != 1 {
		t.Fatalf("documents %v %v, want one", docs, err)
	}
	opts := service.LoadOptions{Dir: in("."), Folder: in("."), Offline: true}
	if exists(in("agents.yaml")) {
		opts.AgentsFile = in("agents.yaml")
	}
	opts.Formats = linked.Kit().Formats
	wf, problems, err := service.Load(t.Context(), docs[0], content(t, docs[0]), opts)
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	if wf.Name == "" {
		wf.Name = name
	}
	s := d.Open(t, service.Config{Documents: linked.Kit(), Env: func(string) string { return "" }, Version: "test"})
	req := service.StartRequest{
		Workflow: wf, RunID: name, Dir: in("."), Place: service.PlaceOf(docs[0]),
		Input:  strings.TrimSpace(string(content(t, in("input.txt")))),
		Branch: strings.TrimSpace(string(content(t, in("branch.txt")))), Trust: true,
	}
	req.RepliesFile, req.Replies = in("replies.yaml"), content(t, in("replies.yaml"))
	if exists(in("tools.yaml")) {
		req.ToolsFile, req.Tools = in("tools.yaml"), content(t, in("tools.yaml"))
	}
	if _, err := s.Start(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	rest := func(want event.Status) {
		t.Helper()
		if st, err := s.Wait(t.Context(), name); err != nil || st.Status != want {
			t.Fatalf("the run is %+v, %v; want %s", st, err, want)
		}
	}
	for line := range strings.Lines(string(content(t, in("answers.txt")))) {
		rest(event.StatusPaused)
		if err := s.Answer(t.Context(), name, answerOf(t, split(strings.TrimSpace(line)))); err != nil {
			t.Fatalf("answer %s: %v", line, err)
		}
	}
	rest(event.StatusCompleted)
	return d.Journals(t, s)
}

// answerOf parses flags of `hocket resume`.
func answerOf(t *testing.T, flags []string) service.AnswerRequest {
	t.Helper()
	a := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram)}
	for len(flags) > 0 {
		flag, value := flags[0], ""
		if flags = flags[1:]; !slices.Contains([]string{"--approve", "--reject"}, flag) {
			value, flags = flags[0], flags[1:]
		}
		switch flag {
		case "--approve":
			a.Value, a.Decision = service.Decide(workflow.PortApprove), true
		case "--reject":
			a.Value, a.Decision = service.Decide(workflow.PortReject), true
		case "--note":
			a.Note = value
		case "--node":
			a.Node = value
		case "--input":
			a.Value = service.Decide(value)
		default:
			t.Fatalf("flag %s", flag)
		}
	}
	return a
}
