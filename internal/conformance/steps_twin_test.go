package conformance_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

// twinDocuments is how many random documents are run; each has at most twinSteps steps.
const (
	twinDocuments = 300
	twinSteps     = 12
)

// TestStepsTwin runs random steps documents and compares each with an interpreter of S4 that is as plain as the rules: prompts, outputs, step context,
// and how the run ends (S4-3 to S4-5, S4-8 to S4-10, S4-12 to S4-14, S4-18, S4-20, S4-34, S4-35, S4-37, S4-38).
func TestStepsTwin(t *testing.T) {
	t.Parallel()
	var completed, failed, looped int
	for seed := range uint64(twinDocuments) {
		d := drawDocument(seed)
		tw := &stepsTwin{doc: d, calls: map[string]int{}, prompts: map[string][]string{}, loops: map[string]int{}}
		code := tw.run()
		if code == "" {
			completed++
		} else {
			failed++
		}
		if code == engine.CodeMaxLoopIterations {
			looped++
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tw.compare(t, code) })
		})
	}
	if completed < twinDocuments/3 || failed < twinDocuments/10 || looped < 3 {
		t.Errorf("%d documents complete, %d fail, %d of them by their loops: the draw has become one-sided", completed, failed, looped)
	}
}

// stepsTwin interprets a document: one step after another, as the rules say it.
type stepsTwin struct {
	doc     *twinDocument
	seen    []*twinEntry // the outputs in the order of their first execution
	calls   map[string]int
	prompts map[string][]string
	loops   map[string]int
	back    string // the step to which a branch has just led back
	last    any    // the output of the step that ran last
	failed  string // the code of the failure, "" for none
	at      string // the step that failed
}

// twinEntry is the output of an agent step, or the children of a parallel step.
type twinEntry struct {
	id, output string
	children   []*twinEntry
}

func (tw *stepsTwin) run() (code string) {
	if tw.list(tw.doc.steps) != "" {
		panic("a jump leads nowhere")
	}
	return tw.failed
}

// list runs steps in sequence. It gives the step to which the last one led back, where that stands in an enclosing list.
func (tw *stepsTwin) list(list []*twinStep) string {
	for i := 0; i < len(list) && tw.failed == ""; i++ {
		jump := tw.step(list[i])
		if jump == "" {
			continue
		}
		to := slices.IndexFunc(list, func(s *twinStep) bool { return s.id == jump })
		if to < 0 {
			return jump
		}
		tw.back = jump
		i = to - 1
	}
	return ""
}

func (tw *stepsTwin) step(s *twinStep) string {
	if tw.back != s.id {
		tw.loops[s.id] = 0 // entered from outside (S4-35)
	}
	tw.back = ""
	if tw.loops[s.id]++; tw.loops[s.id] > tw.doc.limit && s.kind != "condition" {
		tw.failed, tw.at = engine.CodeMaxLoopIterations, s.id
		return ""
	}
	switch s.kind {
	case "agent":
		if e := tw.agent(s, tw.block(tw.seen, "")); e != nil {
			tw.note(e)
			tw.last = e.output
		}
	case "parallel":
		e := tw.parallel(s, tw.seen)
		tw.note(e)
		tw.last = shown(e)
	default:
		branch, jump := s.no, s.noJump
		if tw.holds(s.on) {
			branch, jump = s.yes, s.yesJump
		}
		if out := tw.list(branch); out != "" || tw.failed != "" {
			return out
		}
		return jump
	}
	return ""
}

// agent asks as often as the step's retries allow (S4-20).
func (tw *stepsTwin) agent(s *twinStep, block string) *twinEntry {
	prompt := "go"
	if block != "" {
		prompt = "--- Prior Step Outputs ---\n\n" + block + "--- End Prior Step Outputs ---\n\ngo"
	}
	for range min(s.fails, s.retries) + 1 {
		tw.calls[s.id]++
		tw.prompts[s.id] = append(tw.prompts[s.id], prompt)
	}
	if s.fails > s.retries {
		tw.failed, tw.at = string(model.KindServer), s.id
		return nil
	}
	return &twinEntry{id: s.id, output: twinReply(s.id, prompt)}
}

// parallel runs children that see what was there before, and not each other (S4-12).
func (tw *stepsTwin) parallel(s *twinStep, before []*twinEntry) *twinEntry {
	e := &twinEntry{id: s.id, children: []*twinEntry{}}
	for _, c := range s.steps {
		if c.kind == "parallel" {
			e.children = append(e.children, tw.parallel(c, before))
			continue
		}
		e.children = append(e.children, tw.agent(c, tw.block(before, "")))
	}
	return e
}

// note keeps one entry a step, at the place of its first execution (S4-4).
func (tw *stepsTwin) note(e *twinEntry) {
	if i := slices.IndexFunc(tw.seen, func(x *twinEntry) bool { return x.id == e.id }); i >= 0 {
		tw.seen = slices.Clone(tw.seen)
		tw.seen[i] = e
		return
	}
	tw.seen = append(slices.Clone(tw.seen), e)
}

// block writes outputs under the whole path of parallel ids (S4-13, S4-37).
func (tw *stepsTwin) block(entries []*twinEntry, path string) string {
	var b strings.Builder
	for _, e := range entries {
		if e.children != nil {
			b.WriteString(tw.block(e.children, path+e.id+"/"))
			continue
		}
		fmt.Fprintf(&b, "[%s%s (agent: a%s)]:\n%s\n\n", path, e.id, e.id, e.output)
	}
	return b.String()
}

// holds reads `ok` of the output that a condition names.
func (tw *stepsTwin) holds(on string) bool {
	list := tw.seen
	path := strings.Split(on, ".outputs.")
	for i, id := range path {
		e := list[slices.IndexFunc(list, func(x *twinEntry) bool { return x.id == id })]
		if i == len(path)-1 {
			return strings.Contains(e.output, `"ok":true`)
		}
		list = e.children
	}
	return false
}

// shown is an entry as the step context shows it (S4-34).
func shown(e *twinEntry) any {
	if e.children == nil {
		return map[string]any{"output": e.output, "agent": "a" + e.id}
	}
	inner, order := map[string]any{}, []any{}
	for _, c := range e.children {
		inner[c.id] = shown(c)
		order = append(order, c.id)
	}
	return map[string]any{"steps": inner, "order": order}
}

// twinReply is what every agent says: it depends on the step and on the prompt alone.
func twinReply(id, prompt string) string {
	sum := sha256.Sum256([]byte(id + "\x00" + prompt))
	return fmt.Sprintf(`{"ok":%t,"sum":%q}`, sum[0]%2 == 0, hex.EncodeToString(sum[1:4]))
}

// compare runs the document for real.
func (tw *stepsTwin) compare(t *testing.T, code string) {
	t.Helper()
	w := newWorld(t)
	w.replies = func(q model.Request, n int) line {
		id := strings.TrimPrefix(q.Agent, "a")
		s := findTwin(tw.doc.steps, id)
		if (n-1)%(min(s.fails, s.retries)+1) < s.fails {
			return fail(model.KindServer, "upstream is down")
		}
		return say(twinReply(id, q.LastText()))
	}
	doc := tw.doc.text()
	r := w.runs(doc, "go")
	want := engine.StatusCompleted
	if code != "" {
		want = engine.StatusFailed
	}
	o := r.is(want)
	if code != "" {
		same(t, "failure", []string{o.Error.Code, (*o.Error.Node)[strings.LastIndexByte(*o.Error.Node, '/')+1:]}, []string{code, tw.at})
	} else if diff := cmp.Diff(asAny(asJSON(tw.last)), asAny(string(o.Output))); diff != "" {
		t.Errorf("output (-twin +run):\n%s", diff)
	}
	prompts := map[string][]string{}
	for id := range tw.prompts {
		prompts[id] = w.prompts("a" + id)
	}
	if diff := cmp.Diff(tw.prompts, prompts); diff != "" {
		t.Errorf("prompts (-twin +run):\n%s", diff)
	}
	calls := 0
	for _, n := range tw.calls {
		calls += n
	}
	same(t, "calls", len(w.asked()), calls)
	seen := map[string]any{}
	for _, e := range tw.seen {
		seen[e.id] = shown(e)
	}
	if diff := cmp.Diff(asAny(asJSON(seen)), asAny(r.stepContext())); diff != "" {
		t.Errorf("step context (-twin +run):\n%s", diff)
	}
	if t.Failed() {
		t.Logf("the document:\n%s", doc)
	}
}

func asAny(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}
