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

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/randtest"
)

// twinDocuments is the number of random documents to run; each has at most twinSteps steps.
const (
	twinDocuments = 300
	twinSteps     = 20
)

// TestSteps_MatchesReference runs random steps documents and compares each with an interpreter that
// implements S4 literally: prompts, outputs, step context, and how the run ends (S4-3 to S4-5, S4-8
// to S4-10, S4-12 to S4-14, S4-18, S4-20, S4-34, S4-35, S4-37, S4-38).
func TestSteps_MatchesReference(t *testing.T) {
	t.Parallel()
	var completed, failed, looped, overlaid int
	for seed := range randtest.Seeds(twinDocuments) {
		d := drawDocument(seed)
		tw := &stepsTwin{doc: d, calls: map[string]int{}, prompts: map[string][]string{}, loops: map[string]int{}}
		code := tw.run()
		if tw.overlaid {
			overlaid++
		}
		if code == "" {
			completed++
		} else {
			failed++
		}
		if code == event.CodeMaxLoopIterations {
			looped++
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tw.compare(t, code) })
		})
	}
	if completed < twinDocuments/3 || failed < twinDocuments/10 || looped < 3 || overlaid < 30 {
		t.Errorf("%d documents complete, %d fail, %d of them by their loops, %d change in a branch what a former "+
			"pass left: the draw has become one-sided",
			completed, failed, looped, overlaid)
	}
}

// stepsTwin interprets a document literally, one step after another.
type stepsTwin struct {
	doc     *twinDocument
	seen    []*twinEntry // visible outputs, in the order of their first execution
	blocks  []*twinStep  // blocks around the current step, outermost first
	done    []*twinEntry // what the current branch of the innermost block has done
	calls   map[string]int
	prompts map[string][]string
	loops   map[string]int
	back    string // the step to which a branch just led back
	last    any    // the output of the step that ran last
	failed  string // the failure code, or ""
	at      string // the step that failed
	// timingDependent means that the failure happened in a branch; what the other branches had done
	// by then depends on timing.
	timingDependent bool
	// overlaid means that a branch of a block has seen its own output in place of the output of an
	// earlier pass.
	overlaid bool
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

// list runs steps in sequence. It returns the step to which the last one led back, if that step is
// in an enclosing list.
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
		tw.failed, tw.at, tw.timingDependent = event.CodeMaxLoopIterations, s.id, len(tw.blocks) > 0
		return ""
	}
	switch s.kind {
	case "agent":
		if e := tw.agent(s, tw.block(tw.seen, "")); e != nil {
			tw.recordOutput(e)
			tw.last = e.output
		}
	case "parallel":
		if e := tw.parallel(s); tw.failed == "" {
			tw.recordOutput(e)
			tw.last = shown(e)
		}
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

// agent calls the agent as often as the step's retries allow (S4-20).
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
	return &twinEntry{id: s.id, output: twinReply(s, prompt)}
}

// parallel runs the branches. Each branch sees earlier outputs and its own, but not those of other
// branches (S4-12, D5). The block's output holds their last outputs, in declared order (S4-13).
func (tw *stepsTwin) parallel(s *twinStep) *twinEntry {
	before, around := tw.seen, tw.done
	tw.blocks = append(tw.blocks, s)
	var done []*twinEntry
	for _, c := range s.steps {
		tw.seen, tw.done = copied(before), nil
		tw.step(c)
		done = append(done, tw.done...)
	}
	tw.blocks = tw.blocks[:len(tw.blocks)-1]
	tw.seen, tw.done = before, around
	e := &twinEntry{id: s.id, children: []*twinEntry{}}
	for _, id := range childrenOf(s.steps) {
		if i := slices.IndexFunc(done, func(x *twinEntry) bool { return x.id == id }); i >= 0 {
			e.children = append(e.children, done[i])
		}
	}
	return e
}

// childrenOf returns the ids of the steps whose outputs a block contains: its own steps and those
// in the branches of its conditions.
func childrenOf(list []*twinStep) []string {
	var out []string
	for _, s := range list {
		if s.kind == "condition" {
			out = append(append(out, childrenOf(s.yes)...), childrenOf(s.no)...)
			continue
		}
		out = append(out, s.id)
	}
	return out
}

func copied(entries []*twinEntry) []*twinEntry {
	if entries == nil {
		return nil
	}
	out := make([]*twinEntry, 0, len(entries))
	for _, e := range entries {
		out = append(out, &twinEntry{e.id, e.output, copied(e.children)})
	}
	return out
}

// put keeps one entry per step, at the position of its first execution (S4-4).
func put(list []*twinEntry, e *twinEntry) []*twinEntry {
	if i := slices.IndexFunc(list, func(x *twinEntry) bool { return x.id == e.id }); i >= 0 {
		list[i] = e
		return list
	}
	return append(list, e)
}

// recordOutput makes an output visible: in the enclosing block if an earlier pass left one,
// otherwise on its own.
func (tw *stepsTwin) recordOutput(e *twinEntry) {
	tw.done = put(tw.done, e)
	e = copied([]*twinEntry{e})[0]
	block := tw.located(len(tw.blocks) - 1)
	if block == nil {
		tw.seen = put(tw.seen, e)
		return
	}
	tw.overlaid = true
	have := map[string]*twinEntry{e.id: e}
	for _, c := range block.children {
		if c.id != e.id {
			have[c.id] = c
		}
	}
	block.children = []*twinEntry{}
	for _, id := range childrenOf(tw.blocks[len(tw.blocks)-1].steps) {
		if c := have[id]; c != nil {
			block.children = append(block.children, c)
		}
	}
}

// located returns the visible entry of the n-th block around the step.
func (tw *stepsTwin) located(n int) *twinEntry {
	if n < 0 {
		return nil
	}
	lists := [][]*twinEntry{tw.seen}
	if outer := tw.located(n - 1); outer != nil {
		lists = append(lists, outer.children)
	}
	for _, list := range lists {
		for _, e := range list {
			if e.id == tw.blocks[n].id {
				return e
			}
		}
	}
	return nil
}

// block renders outputs under the full path of parallel ids (S4-13, S4-37).
func (tw *stepsTwin) block(entries []*twinEntry, path string) string {
	var b strings.Builder
	for _, e := range entries {
		if e.children != nil {
			b.WriteString(tw.block(e.children, path+e.id+"/"))
			continue
		}
		if e.output != "" { // S4-5
			fmt.Fprintf(&b, "[%s%s (agent: a%s)]:\n%s\n\n", path, e.id, e.id, e.output)
		}
	}
	return b.String()
}

// holds reads `ok` from the output that a condition names. Each id belongs to a single step.
func (tw *stepsTwin) holds(on string) bool {
	return strings.Contains(anywhere(tw.seen, on[strings.LastIndex(on, ".")+1:]).output, `"ok":true`)
}

func anywhere(list []*twinEntry, id string) *twinEntry {
	for _, e := range list {
		if e.id == id {
			return e
		}
		if e = anywhere(e.children, id); e != nil {
			return e
		}
	}
	return nil
}

// shown returns an entry as the step context shows it (S4-34).
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

// twinReply returns the reply of every agent: it depends only on the step and the prompt.
func twinReply(s *twinStep, prompt string) string {
	sum := sha256.Sum256([]byte(s.id + "\x00" + prompt))
	if s.quiet && sum[0]%3 == 0 {
		return ""
	}
	return fmt.Sprintf(`{"ok":%t,"sum":%q}`, sum[0]%2 == 0, hex.EncodeToString(sum[1:4]))
}

// compare runs the document on the engine and compares the results.
func (tw *stepsTwin) compare(t *testing.T, code string) {
	t.Helper()
	w := newWorld(t)
	w.replies = func(q model.Request, n int) line {
		id := strings.TrimPrefix(q.Agent, "a")
		s := findTwin(tw.doc.steps, id)
		if (n-1)%(min(s.fails, s.retries)+1) < s.fails {
			return fail(model.KindServer, "upstream is down")
		}
		return say(twinReply(s, q.LastText()))
	}
	doc := tw.doc.text()
	r := w.runs(doc, "go")
	want := event.StatusCompleted
	if code != "" {
		want = event.StatusFailed
	}
	o := r.is(want)
	if tw.timingDependent {
		same(t, "failure", o.Error.Code, code)
		return
	}
	if code != "" {
		same(t, "failure", []string{o.Error.Code, (*o.Error.Node)[strings.LastIndexByte(*o.Error.Node, '/')+1:]},
			[]string{code, tw.at})
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
