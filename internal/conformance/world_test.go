package conformance_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// waitTimeout is the maximum duration of a wait, in the bubble's time if the test has a bubble.
const waitTimeout = 5 * time.Minute

// world is a service with a store and a fake model.
type world struct {
	*service.Service
	*fake
	t   *testing.T
	cfg service.Config
	// begun lists the start requests of all runs, for TestJournalsAreEqual.
	begun []service.StartRequest
}

// newWorld opens a service with an in-memory store. with may change the configuration.
func newWorld(t *testing.T, with ...func(*service.Config)) *world {
	t.Helper()
	f := newFake(t)
	cfg := service.Config{
		Documents: linked.Kit(),
		DB:        service.Memory,
		Env:       env(map[string]string{"OPENAI_API_KEY": "test", "HOCKET_MODEL": "openai/fake"}),
		Adapters: map[model.Protocol]model.Factory{model.ProtocolOpenAI: func(model.Endpoint) (model.Client, error) {
			return f, nil
		}},
	}
	for _, change := range with {
		change(&cfg)
	}
	return openWorld(t, f, cfg)
}

func openWorld(t *testing.T, f *fake, cfg service.Config) *world {
	t.Helper()
	s, err := service.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Service: s, fake: f, t: t, cfg: cfg}
	t.Cleanup(w.close)
	return w
}

// close closes the service once.
func (w *world) close() {
	w.t.Helper()
	if w.Service == nil {
		return
	}
	w.record()
	if err := w.Close(); err != nil {
		w.t.Error(err)
	}
	w.Service = nil
}

// restart closes the service and opens a new one on the same file, as another process would.
func (w *world) restart() *world {
	w.t.Helper()
	w.close()
	next := openWorld(w.t, w.fake, w.cfg)
	next.begun = w.begun
	return next
}

// env returns an environment with only these variables.
func env(vars map[string]string) func(string) string {
	vars = maps.Clone(vars)
	return func(name string) string { return vars[name] }
}

// onDisk configures a store in a file.
func onDisk(path string) func(*service.Config) {
	return func(c *service.Config) { c.DB = path }
}

// load reads a document, which must be valid, and returns it with its warnings.
func load(t *testing.T, doc string, opts ...service.LoadOptions) (*workflow.Workflow, diag.List) {
	t.Helper()
	w, problems := read(t, doc, opts...)
	if problems.HasErrors() {
		t.Fatalf("the document has errors:\n%v", problems)
	}
	return w, problems
}

func read(t *testing.T, doc string, opts ...service.LoadOptions) (*workflow.Workflow, diag.List) {
	t.Helper()
	var o service.LoadOptions
	if len(opts) > 0 {
		o = opts[0]
	}
	o.Formats = linked.Kit().Formats
	w, problems, err := service.Load(t.Context(), "doc", []byte(doc), o)
	if err != nil {
		t.Fatal(err)
	}
	return w, problems
}

// refused returns the error messages of a document; the test fails if there are none.
func refused(t *testing.T, doc string, opts ...service.LoadOptions) []string {
	t.Helper()
	_, problems := read(t, doc, opts...)
	if !problems.HasErrors() {
		t.Errorf("this document is accepted:\n%s", doc)
	}
	return messages(problems, diag.Error)
}

func messages(l diag.List, s diag.Severity) []string {
	var out []string
	for _, d := range l {
		if d.Severity == s {
			out = append(out, d.Message)
		}
	}
	return out
}

// testdata returns the content of a testdata file.
func testdata(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// run is one run in a world.
type run struct {
	w  *world
	id string
}

// begin starts a run of a document; with may change the request.
func (w *world) begin(doc, input string, with ...func(*service.StartRequest)) *run {
	w.t.Helper()
	wf, _ := load(w.t, doc)
	return w.beginWorkflow(wf, input, with...)
}

func (w *world) beginWorkflow(wf *workflow.Workflow, input string, with ...func(*service.StartRequest)) *run {
	w.t.Helper()
	q := service.StartRequest{Workflow: wf, Input: input}
	for _, change := range with {
		change(&q)
	}
	id, err := w.Start(w.t.Context(), q)
	if err != nil {
		w.t.Fatalf("start: %v", err)
	}
	q.RunID = id
	w.begun = append(w.begun, q)
	return &run{w, id}
}

// runs starts a run and waits until it has ended or is paused.
func (w *world) runs(doc, input string, with ...func(*service.StartRequest)) *run {
	w.t.Helper()
	r := w.begin(doc, input, with...)
	r.waitSettled()
	return r
}

// completes starts a run that must complete, and returns its run object.
func (w *world) completes(doc, input string, with ...func(*service.StartRequest)) project.Run {
	w.t.Helper()
	return w.runs(doc, input, with...).is(event.StatusCompleted)
}

// waitSettled waits until the run has ended or is paused with no call in flight.
func (r *run) waitSettled() event.Status {
	r.w.t.Helper()
	ctx, cancel := context.WithTimeout(r.w.t.Context(), waitTimeout)
	defer cancel()
	st, err := r.w.Wait(ctx, r.id)
	if err != nil {
		r.w.t.Fatalf("wait for run %s: %v", r.id, err)
	}
	return st.Status
}

// is waits for the run and checks its status.
func (r *run) is(want event.Status) project.Run {
	r.w.t.Helper()
	r.waitSettled()
	o := r.show()
	if o.Status != want {
		r.w.t.Fatalf("the run is %s, want %s; error %s", o.Status, want, asJSON(o.Error))
	}
	return o
}

func (r *run) show() project.Run {
	r.w.t.Helper()
	o, err := r.w.Show(r.w.t.Context(), r.id)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return o
}

// journaled is a run with its events.
type journaled struct {
	service.Recorded
	Events []event.Event
}

// recorded reads the journal of the run.
func (r *run) recorded() journaled {
	r.w.t.Helper()
	rec, err := r.w.Read(r.w.t.Context(), r.id)
	if err != nil {
		r.w.t.Fatal(err)
	}
	events, err := r.w.Events(r.w.t.Context(), r.id, 0)
	if err != nil {
		r.w.t.Fatal(err)
	}
	return journaled{rec, events}
}

// answer sends an answer, to node if one is named.
func (r *run) answer(value any, node ...string) error {
	r.w.t.Helper()
	a := service.AnswerRequest{By: event.LocalBy(event.ChannelProgram)}
	if value != nil {
		a.Value = event.Value(asJSON(value))
	}
	if len(node) > 0 {
		a.Node = node[0]
	}
	return r.w.Answer(r.w.t.Context(), r.id, a)
}

func (r *run) signal(name string, value any, key string) (service.SignalResult, error) {
	r.w.t.Helper()
	return r.w.Signal(r.w.t.Context(), r.id, service.SignalRequest{Name: name, Value: event.Value(asJSON(value)),
		Key: key, By: event.LocalBy(event.ChannelProgram)})
}

// signals sends a signal that must be accepted.
func (r *run) signals(name string, value any) service.SignalResult {
	r.w.t.Helper()
	out, err := r.signal(name, value, "")
	if err != nil {
		r.w.t.Fatalf("signal %s: %v", name, err)
	}
	return out
}

// answers sends an answer that must be accepted.
func (r *run) answers(value any, node ...string) {
	r.w.t.Helper()
	if err := r.answer(value, node...); err != nil {
		r.w.t.Fatalf("answer %v: %v", value, err)
	}
}

// log returns the log, one `node type content` line per entry.
func (r *run) log() []string {
	r.w.t.Helper()
	rec := r.recorded()
	out := []string{}
	for _, e := range project.Logs(rec.Workflow, rec.Events) {
		out = append(out, fmt.Sprintf("%s %s %s", e.NodeID, e.Type, e.Content))
	}
	return out
}

// logOf returns the lines of the log that start with prefix.
func (r *run) logOf(prefix string) []string {
	r.w.t.Helper()
	out := []string{}
	for _, line := range r.log() {
		if strings.HasPrefix(line, prefix) {
			out = append(out, line)
		}
	}
	return out
}

// stepContext returns the step context.
func (r *run) stepContext() string {
	r.w.t.Helper()
	rec := r.recorded()
	return string(project.Fold(r.id, rec.Workflow, rec.Events).Context())
}

// events returns the data of all events of one type.
func events[T event.Data](r *run) []T {
	r.w.t.Helper()
	var out []T
	for _, e := range r.recorded().Events {
		if d, ok := e.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

// noRuns checks that the store holds no run and that no model was called (D25).
func (w *world) noRuns() {
	w.t.Helper()
	heads, _, err := w.List(w.t.Context(), listAll)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(heads) > 0 || len(w.asked()) > 0 {
		w.t.Errorf("%d runs are stored and %v were asked, want none", len(heads), w.asked())
	}
}

// asJSON returns v as a JSON string.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// same checks that got equals want.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// text returns the content of a JSON string, and any other value as its JSON.
func text(v event.Value) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
