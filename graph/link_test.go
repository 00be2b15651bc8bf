package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// names returns a graph with a subgraph node for each name in others.
func names(t *testing.T, name string, others ...string) *graph.Compiled[piece] {
	t.Helper()
	b := graph.New[piece](name).Start(noteWord("s"))
	for _, o := range others {
		b.Then(graph.SubgraphConfig[piece, piece]{ID: "to-" + o, Name: o})
	}
	return compileAny(t, b)
}

// TestLinkDigest checks that the digest of a linked graph covers the inner graphs at any depth,
// that the original graph is unchanged, and that linking it again returns the same digest (P9).
func TestLinkDigest(t *testing.T) {
	t.Parallel()
	a, b := names(t, "a", "b"), names(t, "b", "c")
	c := func(version string) *graph.Compiled[piece] {
		return compileAny(t, graph.New[piece]("c").Start(noteWord("x")), graph.Config{Version: version})
	}
	before := a.Digest()
	one, same, two := linked(t, a, b, c("1")), linked(t, a, b, c("1")), linked(t, a, b, c("2"))
	if a.Digest() != before || one.Digest() == before || one.Digest() != same.Digest() || one.Digest() == two.Digest() {
		t.Errorf("digests %.8s, %.8s; linked %.8s, %.8s, %.8s", before, a.Digest(), one.Digest(), same.Digest(),
			two.Digest())
	}
	if again := linked(t, one, c("2")); again.Digest() != two.Digest() {
		t.Error("names that were bound before and are not known now must stay, others are bound anew")
	}
	if again := linked(t, one); again.Digest() != one.Digest() || one.Name() != "a" || one.Start() != "s" ||
		len(one.Ends()) != 1 || len(one.Nodes()) != 2 {
		t.Error("linking changed more than the names")
	}
	if linked(t, one, b, c("1")) == one || linked(t, one) != one {
		t.Error("a graph is linked anew exactly where there is something new")
	}
	plain := compileAny(t,
		graph.New[piece]("p").Start(noteWord("x")).Then(graph.SubgraphConfig[piece, piece]{ID: "c", Graph: c("1")}))
	if linked(t, plain, b) != plain {
		t.Error("a graph without names is made anew")
	}
	direct := compileAny(t, graph.New[piece]("a").Start(noteWord("s")).Then(graph.SubgraphConfig[piece, piece]{
		ID:    "to-b",
		Graph: linked(t, b, c("1"))}))
	if direct.Digest() != one.Digest() {
		t.Error("a graph that is given and one that is named differ")
	}
}

// TestLinkOrder checks the order in which a name is looked up: the graph that uses it, then the
// enclosing graphs, then the caller (S2-66).
func TestLinkOrder(t *testing.T) {
	t.Parallel()
	marked := func(name, mark string) *graph.Compiled[piece] {
		return compileAny(t, graph.New[piece](name).Start(noteWord(mark)))
	}
	knows := func(graphs ...graph.Subgraph) graph.Config {
		return graph.Config{Runtime: graph.Runtime{WorkflowResolver: among(graphs...)}}
	}
	user := func(name string, cfg graph.Config, others ...string) *graph.Compiled[piece] {
		b := graph.New[piece](name).Start(noteWord("s"))
		for _, o := range others {
			b.Then(graph.SubgraphConfig[piece, piece]{ID: o, Name: o})
		}
		return compileAny(t, b, cfg)
	}
	inner := user("in", knows(marked("p", "inner-p")), "p", "q", "r")
	g := user("t", knows(inner, marked("p", "outer-p"), marked("q", "outer-q")), "in", "p")
	w := linked(t, g, marked("p", "caller-p"), marked("q", "caller-q"), marked("r", "caller-r")).Workflow()
	for _, tc := range []struct{ path, want string }{{"in/p", "inner-p"}, {"in/q", "outer-q"}, {"in/r", "caller-r"},
		{"p", "outer-p"}} {
		f := w
		for name := range strings.SplitSeq(tc.path, "/") {
			f = f.Flows[name]
		}
		if f.Entry != tc.want {
			t.Errorf("%s is the graph that begins with %s, want %s", tc.path, f.Entry, tc.want)
		}
	}
}

// TestLinkErrors checks that a graph cannot contain itself, and that nesting is limited. The error
// says which node cannot be linked and where it was added.
func TestLinkErrors(t *testing.T) {
	t.Parallel()
	a, b, c := names(t, "a", "b"), names(t, "b", "c"), names(t, "c", "a")
	endless := func(name string) (graph.Subgraph, bool) { return names(t, name, name+"'"), true }
	var missing *graph.Compiled[piece]
	for name, tc := range map[string]struct {
		g    *graph.Compiled[piece]
		find func(string) (graph.Subgraph, bool)
		want string
	}{
		"itself":         {names(t, "a", "a"), nil, ""},
		"by itself":      {c, among(c, c), ""},
		"through others": {a, among(a, b, c), `Subgraph node "to-a": graph "a" contains itself: a -> b -> c -> a`},
		"begun linked": {linked(t, a, b), among(a, c),
			`Subgraph node "to-a": graph "a" contains itself: a -> b -> c -> a`},
		"endless": {names(t, "n", "n'"), endless, fmt.Sprintf(`subgraphs are nested more than %d deep`,
			workflow.MaxFlowDepth)},
		"panics": {a, func(string) (graph.Subgraph, bool) {
			panic("oops")
		}, `Subgraph node "to-b": looking up workflow "b" panicked: oops`},
		"nil pointer": {a, func(string) (graph.Subgraph, bool) { return missing, true }, ""},
		"nil":         {a, func(string) (graph.Subgraph, bool) { return nil, true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := tc.g.Link(tc.find)
			if tc.want == "" {
				if err != nil || out == nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if p := problems(t, err); out != nil || len(p) != 1 || !strings.Contains(p[0].Message, tc.want) ||
				p[0].Span.File != "link_test.go" {
				t.Errorf("got %v, want %s", p, tc.want)
			}
		})
	}
	self := names(t, "a", "a")
	_, err := self.Link(among(self))
	if p := problems(t, err); len(p) != 1 || p[0].Message != `Subgraph node "to-a": graph "a" contains itself: a -> a` {
		t.Errorf("itself: %v", p)
	}
}

// TestSubgraph_SameBuilder checks that a builder that is used further may include the graph that it
// was compiled into before, since that is a different graph.
func TestSubgraph_SameBuilder(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(note("a"))
	first := compiled(t, b)
	g := linked(t,
		compiled(t, b.Then(graph.SubgraphConfig[state, state]{
			ID: "sub", Graph: first, Output: func(s *state, last state) error {
				*s = last
				return nil
			}})), first)
	w := newWorld(t, g)
	w.begin(state{})
	w.want("a, sub, sub/a", "completed")
	if got := strings.Join(w.state().Log, " "); got != "a a" {
		t.Errorf("log %s", got)
	}
}

// TestSubgraph_ReusedGraph checks that the same graph may occur at several places and inside parts
// of other graphs without functions or states colliding, and that 16 graphs may be nested.
func TestSubgraph_ReusedGraph(t *testing.T) {
	t.Parallel()
	g := compileAny(t, graph.New[piece]("0").Start(noteWord("x")))
	for i := range workflow.MaxFlowDepth {
		g = compileAny(t, graph.New[piece](fmt.Sprint(i+1)).Start(graph.SubgraphConfig[piece, piece]{
			ID: "in", Graph: g, Output: func(p *piece, last piece) error {
				p.N = 2 * last.N
				return nil
			}}))
	}
	leave := func(s *state, p piece) error {
		s.N = p.N
		return nil
	}
	if _, err := graph.New[state]("t").Start(sub{ID: "a", Graph: g}).Compile(); err == nil ||
		!strings.Contains(err.Error(), "16 flows deep") {
		t.Errorf("one too deep: %v", err)
	}
	small := compileAny(t, graph.New[piece]("small").Start(noteWord("x")))
	twice := compileAny(t, graph.New[piece]("twice").Start(graph.SubgraphConfig[piece, piece]{
		ID: "in", Graph: small, Output: func(p *piece, last piece) error {
			p.N = 2 * last.N
			return nil
		}}))
	w := run(t, graph.New[state]("t").Start(sub{ID: "a", Graph: small, Output: leave}).Then(
		sub{ID: "b", Graph: twice, Output: leave}).Then(sub{ID: "c", Graph: small, Output: leave}), state{N: 1})
	w.want("a, a/x, b, b/in, b/in/x, c, c/x", "completed")
	if got := w.state().N; got != 7 || w.Run.Status() != event.StatusCompleted {
		t.Errorf("n is %d, want 7", got)
	}
}
