package conformance_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/randtest"
)

// way is an edge of a random routes document. Value "" means ALWAYS; to "." is the end, and to
// "ghost" is a missing node.
type way struct{ from, value, to string }

// randomRoutes generates a document with three agents and an executor, and the model's replies.
func randomRoutes(rng *rand.Rand) (ways []way, conversational bool, replies []line) {
	pick := func(words ...string) string { return words[rng.IntN(len(words))] }
	always := map[string]bool{}
	for range rng.IntN(24) {
		w := way{from: pick("a", "b", "c", "x")}
		w.value = pick("", "", "A", "B", "C", "END", "tools")
		w.to = pick("a", "b", "c", "x", "a", "b", "c", "x", ".", "ghost")
		if w.from == "x" {
			w.value, w.to = pick("", "think", "create_todo", "nobody_has_this"),
				pick("a", "b", "c", "a", "b", "c", ".", "ghost")
		}
		if w.value == "" {
			if always[w.from] {
				continue
			}
			always[w.from] = w.to != "ghost"
		}
		ways = append(ways, w)
	}
	if rng.IntN(3) == 0 { // a cycle, so that some runs are long
		for i, from := range []string{"a", "b", "c"} {
			if !always[from] {
				ways = append(ways, way{from, "", []string{"b", "c", "a"}[i]})
			}
		}
	}
	for range 20 {
		l := line{text: pick("", "words", `{"next":"A"}`, `{"next":"A"}`, `{"next":"B"}`, `{"next":"B"}`,
			"```json\n{\"next\":\"C\"}\n```", `{"next":"tools"}`, `{"next":5}`, `{"next":"A","content":"said A"}`,
			`{"next":"B","content":""}`)}
		if rng.IntN(12) == 0 {
			l.text = pick(`{"next":"END"}`, `{"next":"nowhere"}`, `{"next":"END","content":"over"}`,
				`{"next":"END","content":""}`)
		}
		for range rng.IntN(3) * (rng.IntN(3) / 2) {
			l.tools = append(l.tools, []line{
				think, todo, use("nobody_has_this", `{}`), route(pick("A", "B", "END", "nowhere"), pick("", "content")),
				use("end", `{"message":"bye"}`), use("end", `{}`),
			}[rng.IntN(6)].tools...)
		}
		replies = append(replies, l)
	}
	return ways, rng.IntN(2) == 0, replies
}

// twin is a literal implementation of S3-2 to S3-13 and S3-22.
type twin struct {
	ways           []way
	conversational bool
	replies        []line

	ran                      []string
	at, caller, said, output string
	called                   []string // tools called by the last reply
	failure                  string
}

// find returns the target of the edge with a value, or "" if there is none.
func (x *twin) find(from, value string) string {
	for _, w := range x.ways {
		if w.from == from && w.value == value && w.to != "ghost" {
			return w.to
		}
	}
	return ""
}

// run returns the nodes that run, and the output or the failure. If a run ends after a tool, its
// output is the tool's result, which twin does not know: `?`.
func (x *twin) run() string {
	const limit = 15
	for x.at = "a"; x.at != "." && x.failure == ""; {
		switch {
		case len(x.ran) == limit:
			x.failure = fmt.Sprintf("step limit of %d reached", limit)
			continue
		case x.at == "x":
			x.executor()
		default:
			x.agent()
		}
	}
	if x.failure != "" {
		return strings.Join(x.ran, " ") + " ! " + x.failure
	}
	return strings.Join(x.ran, " ") + " = " + x.output
}

func (x *twin) executor() {
	x.ran = append(x.ran, "x")
	to := ""
	if len(x.called) > 0 {
		x.output = "?"
		to = x.find("x", x.called[len(x.called)-1])
	}
	x.at = cmp.Or(to, x.find("x", ""), x.caller)
}

func (x *twin) agent() {
	x.ran = append(x.ran, x.at)
	l := x.replies[0]
	x.replies = x.replies[1:]
	text, next, routed := x.split(l)
	if len(x.called) > 0 {
		x.said = cmp.Or(l.text, x.said)
		x.caller = x.at
		if !slices.ContainsFunc(x.ways, func(w way) bool { return w.from == x.at && w.to == "x" }) {
			x.failure = fmt.Sprintf("agent node %q called tool %s, but no edge leads from it to a tool_executor node",
				x.at, x.called[0])
		}
		x.at = "x"
		return
	}
	var reply struct {
		Next    string  `json:"next"`
		Content *string `json:"content"`
	}
	if json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimPrefix(text, "```json\n"), "\n```")), &reply) != nil {
		reply.Next = ""
	}
	if !routed {
		next = reply.Next
	}
	if reply.Next != "" && reply.Content != nil {
		text = *reply.Content
	}
	if next == "END" {
		text = cmp.Or(text, x.said)
	}
	x.output, x.said, x.caller = text, cmp.Or(text, x.said), x.at
	x.at = x.nextNode(next)
}

// split splits a reply into its text and the choice of the routing tools, and records in called the
// tools that an executor has to call.
func (x *twin) split(l line) (text, next string, routed bool) {
	offered := slices.ContainsFunc(x.ways, func(w way) bool {
		return w.from == x.at && w.value != "" && w.to != "ghost" && x.find(x.at, w.value) == w.to && w.to != "x"
	})
	x.called = nil
	text = l.text
	for _, tc := range l.tools {
		var args struct{ Next, Content, Message string }
		if json.Unmarshal(tc.Arguments, &args) != nil {
			panic("bad arguments")
		}
		switch {
		case tc.Name == "route_to" && offered:
			next, routed = args.Next, true
		case tc.Name == "end" && x.conversational:
			next, routed, args.Content = "END", true, args.Message
		default:
			x.called = append(x.called, tc.Name)
		}
		text = cmp.Or(text, args.Content)
	}
	return text, next, routed
}

// nextNode returns the node that follows an agent's choice.
func (x *twin) nextNode(next string) string {
	if to := x.find(x.at, next); next != "" && to != "" {
		return to
	}
	if next == "END" {
		return "."
	}
	if to := x.find(x.at, ""); to != "" && to != "x" { // an executor would have nothing to execute
		return to
	}
	if next != "" && slices.ContainsFunc(x.ways, func(w way) bool {
		return w.from == x.at && w.value != "" && w.to != "ghost"
	}) {
		x.failure = fmt.Sprintf("no edge of %q for next %q", x.at, next)
	}
	return "."
}

// paired checks what every provider requires: each call has one result, directly after the reply
// that requested it, and the list does not end with the agent's own message (D30).
func paired(t *testing.T, msgs []chat.Message) {
	t.Helper()
	var open []string
	for _, m := range msgs {
		if m.Role == chat.RoleTool {
			i := slices.Index(open, m.ToolCallID)
			if i < 0 {
				t.Errorf("a result without its call: %s %q", m.ToolName, m.Text.String())
				continue
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without result: %v", open)
		}
		open = nil
		for _, tc := range m.ToolCalls {
			open = append(open, tc.ID)
		}
	}
	if len(open) > 0 || len(msgs) == 0 || msgs[len(msgs)-1].Role == chat.RoleAssistant {
		t.Errorf("a list that ends with its own words, or with calls %v", open)
	}
}

// TestRoutes_MatchesReference checks that random routes documents run as the twin predicts.
func TestRoutes_MatchesReference(t *testing.T) {
	t.Parallel()
	ends := map[string]int{}
	for seed := range randtest.Seeds(300) {
		synctest.Test(t, func(t *testing.T) {
			ways, conversational, replies := randomRoutes(rand.New(rand.NewPCG(seed, 3)))
			var edges []string
			for _, w := range ways {
				from := w.from
				if w.value != "" {
					from += ":" + w.value
				}
				edges = append(edges, from+" -> "+w.to)
			}
			doc := routes("a+* b+* c+* x", strings.Join(edges, "; "),
				fmt.Sprintf(`"isConversational": %t`, conversational))
			want := (&twin{ways: ways, conversational: conversational, replies: replies}).run()
			w := newWorld(t)
			w.acts = func(before int) line { return replies[before] }
			r := w.runs(doc, "hi", thinking)
			o := r.show()
			got := r.ran() + " = " + text(o.Output)
			if o.Error != nil {
				got = r.ran() + " ! " + o.Error.Message
			}
			if behind, unknown := strings.CutSuffix(want, "= ?"); unknown {
				got, want = strings.TrimSpace(strings.SplitN(got, "=", 2)[0]), strings.TrimSpace(behind)
			}
			if got != want || !o.Status.Ended() || o.Status == event.StatusCancelled {
				t.Errorf("seed %d: %s\ngot  %s\nwant %s\n%s", seed, o.Status, got, want, doc)
			}
			for _, q := range w.requests {
				paired(t, q.Messages)
			}
			ends[string(o.Status)]++
			if o.Error != nil {
				ends[o.Error.Code]++
			}
		})
	}
	if ends[string(event.StatusCompleted)] < 50 || ends[event.CodeNoRoute] < 50 || ends[event.CodeMaxSteps] < 5 {
		t.Errorf("the documents are not mixed enough: %v", ends)
	}
}
