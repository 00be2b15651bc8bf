package engine_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/format"
)

var updateFiles = flag.Bool("update", false, "print the transcripts, and what docs/engine.md shows of them, anew")

const transcriptDir = "testdata/transcripts"

// TestTranscripts feeds each file's inputs to the engine, one after another, and compares the
// results with those in the file. The engine's laws are checked after each input
// (enginetest.World), and at the end that the run folded from any prefix of the journal continues
// in the same way (D1). docs/engine.md explains the file format.
func TestTranscripts(t *testing.T) { // not parallel: tests of the files' content run after it
	if *updateFiles {
		if err := flag.Set("rewrite", "true"); err != nil { // datadriven's own flag
			t.Fatal(err)
		}
	}
	for _, file := range transcripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			var s script
			datadriven.RunTest(t, file, s.run)
			s.w.CheckPrefixes()
		})
	}
}

// TestTranscriptsHaveEveryEvent checks that each event type that the engine emits occurs in a
// transcript: a new type needs a scenario.
func TestTranscriptsHaveEveryEvent(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, file := range transcripts(t) {
		all.WriteString(readTranscript(t, file))
	}
	for _, typ := range engine.Types() {
		if !strings.Contains(all.String(), " "+string(typ)+" ") &&
			!strings.Contains(all.String(), " "+string(typ)+"\n") {
			t.Errorf("no transcript has the event %s", typ)
		}
	}
}

func transcripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(transcriptDir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	return files
}

// script runs one file.
type script struct{ w *enginetest.World }

// run carries out one directive and returns the formatted result.
func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "workflow":
		s.w = enginetest.New(t, buildWorkflow(t, d), scriptHost{})
		return "ok"
	case "document":
		w, problems := format.Read("document.yaml", []byte(d.Input), format.Options{})
		if problems.HasErrors() {
			d.Fatalf(t, "%v", problems)
		}
		s.w = enginetest.New(t, w, scriptHost{})
		return "ok"
	}
	s.w.T = t
	seen := len(s.w.Events)
	if d.Cmd == "crash" {
		s.w.Crash(s.lost(t, d)...)
		return s.print(seen, nil)
	}
	if d.Cmd == "forge" {
		return s.forge(t, d)
	}
	if d.Cmd == "clock" { // time passes and nothing happens
		s.w.Now = s.w.Now.Add(duration(t, d, d.CmdArgs[0].Key))
		return "ok"
	}
	in, pending := s.input(t, d)
	before := slices.Clone(s.w.Pending)
	s.w.Pending = slices.DeleteFunc(s.w.Pending, func(c engine.Command) bool { return c == pending })
	if d.Cmd == "reopen" { // all calls are issued again
		s.w.Pending, s.w.Cancelled = nil, map[string]bool{}
	}
	err := s.w.Try(in)
	if err != nil {
		s.w.Pending = before
	}
	return s.print(seen, err)
}

// input returns the input that a directive stands for. pending is the command that it answers, nil
// for other inputs.
func (s *script) input(t *testing.T, d *datadriven.TestData) (in engine.InputData, pending engine.Command) {
	t.Helper()
	switch d.Cmd {
	case "start":
		return engine.Start{Created: event.RunCreated{Input: value(d.Input), Limits: limits(t, d),
			Above: budget(t, d, "above"), Prices: prices}}, nil
	case "answer":
		return engine.Answer{Wait: stringOf(d, "wait"), Value: value(d.Input), Note: stringOf(d, "note"),
			Key: stringOf(d, "key")}, nil
	case "signal":
		return engine.Answer{Signal: d.CmdArgs[0].Key, Value: value(d.Input), Key: stringOf(d, "key")}, nil
	case "timer":
		return s.timer(t, d), nil
	case "cancel":
		return engine.Cancel{Reason: d.Input}, nil
	case "reopen":
		return engine.Reopen{Limits: limits(t, d), Above: budget(t, d, "above"), Lost: s.lost(t, d)}, nil
	}
	id, c := s.command(t, d)
	switch d.Cmd {
	case "reply":
		return modelResult(t, d, id), c
	case "tool-result":
		_, isError := argument(d, "error")
		return engine.ToolResult{ID: id, Text: d.Input, IsError: isError}, c
	case "held":
		return held(d, id), c
	case "return":
		return funcResult(t, d, id), c
	case "fail":
		return failed(t, d, id, c), c
	}
	switch d.Cmd { // the call stays open
	case "note":
		return engine.FuncNote{ID: id, Key: stringOf(d, "key"), Value: value(d.Input)}, nil
	case "child":
		return engine.ChildStart{ID: id, Run: stringOf(d, "run"), Shares: int(number(t, d, "shares")),
			More: budget(t, d, "had")}, nil
	case "used":
		return used(t, d, id), nil
	case "reserve":
		return engine.CallReserve{ID: id, Key: stringOf(d, "key"), Input: number(t, d, "input"),
			Output: number(t, d, "output")}, nil
	}
	d.Fatalf(t, "unknown directive %q", d.Cmd)
	return nil, nil
}

// command finds the call that a directive refers to: by the node that requested it, by agent=ID or
// tool=NAME if the node has several calls, or by id=ID, even if it is no longer in flight.
func (s *script) command(t *testing.T, d *datadriven.TestData) (string, engine.Command) {
	t.Helper()
	if id := stringOf(d, "id"); id != "" {
		for _, c := range s.w.Pending {
			if engine.CallID(c) == id {
				return id, c
			}
		}
		return id, nil
	}
	var found []engine.Command
	for _, c := range s.w.Pending {
		switch c := c.(type) {
		case *engine.CallModel:
			if c.Agent.ID == stringOf(d, "agent") {
				found = append(found, c)
			}
		case *engine.CallTool:
			if c.Tool == stringOf(d, "tool") {
				found = append(found, c)
			}
		}
		if len(d.CmdArgs) > 0 && len(d.CmdArgs[0].Vals) == 0 && enginetest.Node(c) == d.CmdArgs[0].Key {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		d.Fatalf(t, "%d calls match; %d are out\n%s", len(found), len(s.w.Pending), s.w.Log())
	}
	return engine.CallID(found[0]), found[0]
}

// timer advances the clock to when a timer is due; with `early` the timer fires before that.
func (s *script) timer(t *testing.T, d *datadriven.TestData) engine.InputData {
	t.Helper()
	id := d.CmdArgs[0].Key
	i := slices.IndexFunc(s.w.Timers, func(t *engine.StartTimer) bool { return t.ID == id })
	if i < 0 {
		d.Fatalf(t, "no timer %q", id)
	}
	if _, early := argument(d, "early"); !early && s.w.Timers[i].At.After(s.w.Now) {
		s.w.Now = s.w.Timers[i].At
	}
	s.w.Timers = slices.Delete(s.w.Timers, i, i+1)
	return engine.TimerDue{ID: id}
}

// forge folds the journal with one more event, which the engine did not emit, and prints what is
// wrong with it.
func (s *script) forge(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	data, ok := engine.NewData(event.Type(d.CmdArgs[0].Key))
	if !ok {
		d.Fatalf(t, "unknown event type")
	}
	if err := json.Unmarshal([]byte(d.Input), data); err != nil {
		d.Fatalf(t, "%v", err)
	}
	e := event.Event{Seq: s.w.Run.Seq() + 1, At: s.w.Now, Node: stringOf(d, "node"), Step: int(number(t, d, "step")),
		Data: data}
	if n := number(t, d, "seq"); n > 0 {
		e.Seq = uint64(n)
	}
	if err := s.w.Fold(len(s.w.Events)).Apply([]event.Event{e}); err != nil {
		return "error: " + err.Error()
	}
	return "accepted"
}

// lost parses lost=(TOOL:POLICY, …): calls that were in flight when the process died.
func (s *script) lost(t *testing.T, d *datadriven.TestData) (out []engine.Lost) {
	t.Helper()
	a, _ := argument(d, "lost")
	for _, v := range a.Vals {
		tool, policy, _ := strings.Cut(v, ":")
		for _, c := range s.w.Run.Unfinished() {
			if c, ok := c.(*engine.CallTool); ok && c.Tool == tool {
				out = append(out, engine.Lost{ID: c.ID, Policy: policy})
			}
		}
	}
	if len(out) != len(a.Vals) {
		d.Fatalf(t, "no such calls are out")
	}
	return out
}

// print formats the result of an activation: its error, or its events, its commands, and what is
// open after it.
func (s *script) print(seen int, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	events := s.w.Events[seen:]
	for i := range events {
		fmt.Fprintln(&b, eventLine(&events[i]))
	}
	for _, c := range s.w.Last {
		if line := commandLine(c, s.w.Now); line != "" {
			fmt.Fprintln(&b, "    do "+line)
		}
	}
	fmt.Fprintln(&b, "  = "+s.status())
	return b.String()
}

// status describes the current status of the run: its status, the calls in flight, the running
// timers and the open waits.
func (s *script) status() string {
	out := string(s.w.Run.Status())
	list := func(name string, ids []string) {
		if len(ids) > 0 {
			out += "; " + name + " " + strings.Join(ids, " ")
		}
	}
	var calls, timers, waits []string
	for _, c := range s.w.Run.Open() {
		if t, ok := c.(*engine.StartTimer); ok {
			timers = append(timers, t.ID)
		} else {
			calls = append(calls, engine.CallID(c))
		}
	}
	for _, w := range s.w.Run.Waits() {
		waits = append(waits, w.ID)
	}
	list("out", calls)
	if late := s.w.Run.InFlight() - len(calls); late > 0 && s.w.Run.Status() == event.StatusRunning {
		out += fmt.Sprintf("; %d cancelled", late)
	}
	list("timers", timers)
	list("waits", waits)
	if v := s.w.Run.Output(); v != nil && s.w.Run.Status() == event.StatusCompleted {
		out += " with " + short(v)
	}
	return out
}

func duration(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	t.Helper()
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return v
}
