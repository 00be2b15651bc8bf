package conformance_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/workflow"
)

// records is the directory of recorded runs that the projections in Go and in TypeScript
// (web/src/run) both read.
const records = "../project/testdata/runs"

var (
	updateRecords = flag.Bool("records.update", false, "write what the recorded runs are to be shown as anew")
	recordRules   = flag.Bool("records.record", false,
		"record runs of rules, as far as they have kinds of events that no record has yet")
)

// runRecord is a recorded run and its expected projections.
type runRecord struct {
	Run        string          `json:"run"`
	Definition json.RawMessage `json:"definition"`
	// Journal holds the events as they are stored, and Events the events that the API returns with
	// expand=true.
	Journal []json.RawMessage `json:"journal"`
	Events  []json.RawMessage `json:"events"`
	// Shown holds the run object and the states of nodes after the event with that number, halfway
	// and at the end.
	Shown []shownRecord `json:"shown"`
}

type shownRecord struct {
	Seq   uint64              `json:"seq"`
	Run   project.Run         `json:"run"`
	Nodes []project.NodeState `json:"nodes"`
}

// TestPageRecords checks P36: the page draws a run as the server does. This test compares the
// records with the projections in Go; web/src/run/records.test.ts compares the projections of the
// page with the records.
func TestPageRecords(t *testing.T) {
	if *recordRules {
		recordRuns(t)
	}
	files, err := filepath.Glob(filepath.Join(records, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Errorf("%d records are too few to hold two languages together", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			old, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, dir := range metaDir.FindAllSubmatch(old, -1) {
				if string(dir[1]) != recordedDir {
					t.Errorf("the record has a path of the machine that made it: %s", dir[1])
				}
			}
			var r runRecord
			if err := json.Unmarshal(old, &r); err != nil {
				t.Fatal(err)
			}
			fresh := showRecord(t, r)
			if *updateRecords {
				if err := os.WriteFile(file, fresh, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(fresh), string(old)); diff != "" {
				t.Errorf("the run is shown otherwise; -records.update writes it (-got +want):\n%s", diff)
			}
		})
	}
}

// showRecord renders a record with the journal and definition of r.
func showRecord(t *testing.T, r runRecord) []byte {
	t.Helper()
	var def workflow.Workflow
	if err := json.Unmarshal(r.Definition, &def); err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	for _, raw := range r.Journal {
		var e struct {
			Seq  uint64
			Time time.Time
			Type event.Type
			Node string
			Step int
			Data json.RawMessage
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		data, ok := engine.NewData(e.Type)
		if !ok {
			t.Fatalf("no event is called %s", e.Type)
		}
		if err := json.Unmarshal(e.Data, data); err != nil {
			t.Fatal(err)
		}
		events = append(events, event.Event{Seq: e.Seq, At: e.Time, Node: e.Node, Step: e.Step, Data: data})
	}
	f := project.NewFolder(r.Run, &def)
	r.Events, r.Shown = nil, nil
	for i, e := range events {
		line, err := journal.MarshalEvent(r.Run, f.ExpandAll(e))
		if err != nil {
			t.Fatal(err)
		}
		r.Events = append(r.Events, line)
		f.Add(e)
		if i == len(events)/2 || i == len(events)-1 {
			r.Shown = append(r.Shown, shownRecord{e.Seq, f.Run(), f.Nodes()})
		}
	}
	var b bytes.Buffer
	b.WriteString("{")
	for i, member := range []struct {
		name string
		of   any
	}{{"run", r.Run}, {"definition", r.Definition}, {"journal", r.Journal}, {"events", r.Events}, {"shown", r.Shown}} {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n%q: ", member.name)
		writeLines(t, &b, member.of)
	}
	b.WriteString("\n}\n")
	return b.Bytes()
}

// writeLines writes v; a list is written one item per line.
func writeLines(t *testing.T, b *bytes.Buffer, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var items []json.RawMessage
	if json.Unmarshal(text, &items) != nil {
		b.Write(text)
		return
	}
	for i, item := range items {
		b.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		b.Write(item)
	}
	b.WriteString("\n]")
}

// recordedDir replaces the directory in which a run was recorded.
const recordedDir = "/hocket/internal/conformance"

// mostRecorded is the maximum size of a recorded journal in bytes.
const mostRecorded = 24 << 10

// recordRuns runs the rules and records each run whose journal contains something that no earlier
// journal has.
func recordRuns(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	if err := os.MkdirAll(records, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, rules := range append(allRules(), stepsExtensions, stepsPolicies, stepsWorkflows, stepsMaps) {
		for _, r := range rules {
			t.Run("record "+r.name, func(t *testing.T) {
				rec := &recorder{}
				t.Run("played", func(t *testing.T) {
					recorders.Store(t.Name(), rec)
					defer recorders.Delete(t.Name())
					if r.outside {
						r.test(t)
						return
					}
					synctest.Test(t, r.test)
				})
				for i, p := range rec.runs {
					if p.request.Workflow != nil {
						p.keep(t, fmt.Sprintf("%s-%d", r.name, i+1), seen)
					}
				}
			})
		}
	}
}

var metaDir = regexp.MustCompile(`"dir":"(/[^"]*)"`)

var noName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// keep records the run if it has event kinds, with their members, that are not in seen.
func (p *playedRun) keep(t *testing.T, name string, seen map[string]bool) {
	t.Helper()
	def, err := json.Marshal(p.request.Workflow)
	if err != nil {
		t.Fatal(err)
	}
	r := runRecord{Run: p.request.RunID, Definition: def}
	kinds := map[string]string{}
	var novel []string
	size := len(def)
	for _, e := range p.journals[r.Run] {
		line, err := journal.MarshalEvent(r.Run, e)
		if err != nil {
			t.Fatal(err)
		}
		r.Journal = append(r.Journal, line)
		size += len(line)
		var data map[string]json.RawMessage
		raw, err := json.Marshal(e.Data)
		if err != nil || json.Unmarshal(raw, &data) != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(*event.StepStarted); ok {
			kinds[e.Node] = string(d.Kind)
		}
		for member := range data {
			novel = append(novel, fmt.Sprint(e.Data.Type(), " ", kinds[e.Node], " ", member))
		}
	}
	novel = slices.DeleteFunc(novel, func(k string) bool { return seen[k] })
	if len(novel) == 0 || size > mostRecorded || len(r.Journal) == 0 {
		return
	}
	for _, k := range novel {
		seen[k] = true
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range r.Journal { // records do not depend on the machine
		r.Journal[i] = bytes.ReplaceAll(line, []byte(filepath.ToSlash(here)), []byte(recordedDir))
	}
	file := filepath.Join(records, strings.Trim(noName.ReplaceAllString(strings.ToLower(name), "-"), "-")+".json")
	if err := os.WriteFile(file, showRecord(t, r), 0o600); err != nil {
		t.Fatal(err)
	}
}
