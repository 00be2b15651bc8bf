package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// Shape is a structured workflow as a tree: easy to make at random, easy to evaluate by hand ([Twin]), and easy to compile to a graph.
type Shape struct {
	// Kind is agent, func, tool, set (a value of what it was given), signal (one of three names, for the node alone), helped (an agent that calls a tool and a sub-agent), handed (one that calls a tool and hands over), seq, if, par, loop, ask (an approval), sub (a sub-flow), map (over a list of its own), late (a part beside an agent that never
	// answers, whose timeout is over sooner or later), try (a
	// step and what follows its failure) or meet (branches without fork that meet at a free join).
	Kind  string
	ID    string
	Parts []*Shape
	Max   int `json:",omitzero"` // loop: how often the body may run
	// Fixed: an agent whose prompt does not depend on its input.
	Fixed bool `json:",omitzero"`
	// Fails is how many attempts of a leaf fail, Retries how often a leaf, a par or a sub is tried again.
	Fails   int `json:",omitzero"`
	Retries int `json:",omitzero"`
	// Asks: a leaf, a par or a sub is skipped where what it was given does not say yes. Caught is what follows where it fails: CaughtOn or CaughtDefault; "": the failure goes outward.
	Asks   bool   `json:",omitzero"`
	Caught string `json:",omitzero"`
	// State of a sub: "" for none of its own, StateOut where its state is its output, StateIn where that goes into the state around it.
	State string `json:",omitzero"`
	// Items is how many items a map has.
	Items int `json:",omitzero"`
	// Of a par: see workflow.Fork. OnFailure and Bound also of a map: see workflow.Map.
	Until     string `json:",omitzero"`
	OnFailure string `json:",omitzero"`
	Quorum    int    `json:",omitzero"`
	Bound     int    `json:",omitzero"`
}

// What becomes of the state of a sub-flow.
const (
	StateOut = "out"
	StateIn  = "in"
)

// What becomes of a failure that is caught: what the part was given goes on, or a default does.
const (
	CaughtOn      = "on"
	CaughtDefault = "default"
)

// DrawShape makes a random shape of at most that depth of agents, sequences, choices, parallel blocks and loops.
func DrawShape(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, kinds: []string{"agent", "seq", "if", "par", "loop"}}
	return d.draw(depth)
}

// DrawWild makes a random shape of everything that ends without a timer: all but late.
func DrawWild(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, wild: true, kinds: wildKinds}
	return d.draw(depth)
}

// DrawTimed makes a random shape of everything that a shape can be. Calls of late parts have no answer until they are cancelled.
func DrawTimed(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, wild: true, kinds: append(slices.Clip(wildKinds), "late")}
	return d.draw(depth)
}

var wildKinds = []string{"agent", "func", "tool", "set", "sleep", "signal", "helped", "handed", "seq", "if", "par", "loop", "ask", "sub", "map", "try", "meet"}

type drawer struct {
	t     *rapid.T
	kinds []string
	wild  bool
	n     int
}

func (d *drawer) shape(kind string) *Shape {
	d.n++
	return &Shape{Kind: kind, ID: fmt.Sprintf("n%d", d.n)}
}

func (d *drawer) int(name string, from, to int) int { return rapid.IntRange(from, to).Draw(d.t, name) }

func (d *drawer) draw(depth int) *Shape {
	kinds := d.kinds
	if depth <= 0 || d.n > 40 {
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return !leaf(k) })
	}
	return d.drawKind(rapid.SampledFrom(kinds).Draw(d.t, "kind"), depth)
}

func (d *drawer) drawKind(kind string, depth int) *Shape {
	s := d.shape(kind)
	parts := 0
	switch kind {
	case "seq", "par":
		parts = d.int("parts", 1, 3)
	case "meet":
		parts = d.int("parts", 2, 3)
	case "if":
		parts = 2
		if d.wild {
			parts = d.int("ways", 1, 2) // without the second one the path ends there
		}
	case "ask":
		parts = d.int("ways", 1, 2)
	case "loop":
		if parts, s.Max = 1, d.int("max", 1, 4); d.wild {
			parts = d.int("limit", 1, 2) // the second one follows the bound
		}
	case "sub", "map", "late":
		parts = 1
	case "try":
		s.Parts = append(s.Parts, d.drawKind(rapid.SampledFrom([]string{"agent", "func", "tool", "par", "sub", "map"}).Draw(d.t, "guarded"), depth-1))
		s.Parts = append(s.Parts, d.after(d.draw(depth-1)))
	}
	for range parts {
		s.Parts = append(s.Parts, d.draw(depth-1))
	}
	if !d.wild {
		return s
	}
	if leaf(kind) || kind == "par" || kind == "sub" || kind == "map" || kind == "late" {
		s.Asks = d.int("asks", 0, 5) == 0
		if !s.loops() { // whose bound is one of the run, which nothing catches
			s.Caught = rapid.SampledFrom([]string{"", "", "", CaughtOn, CaughtDefault}).Draw(d.t, "caught")
		}
	}
	if leaf(kind) && kind != "set" && kind != "sleep" && kind != "signal" && kind != "helped" && kind != "handed" && d.int("trouble", 0, 3) == 0 {
		s.Fails, s.Retries = d.int("fails", 1, 3), d.int("retries", 0, 2)
	}
	if kind == "par" || kind == "sub" || kind == "map" {
		s.Retries = max(0, d.int("again", -3, 1))
	}
	if kind == "map" {
		s.Items, s.Bound = d.int("items", 0, 4), d.int("bound", 0, 3)
		s.OnFailure = rapid.SampledFrom([]string{"", workflow.FailSkip, workflow.FailCollect}).Draw(d.t, "failure")
	}
	if kind == "sub" {
		s.State = rapid.SampledFrom([]string{"", StateOut, StateIn}).Draw(d.t, "state")
	}
	if kind == "par" {
		s.OnFailure = rapid.SampledFrom([]string{"", workflow.FailCollect, workflow.FailContinue}).Draw(d.t, "failure")
		s.Bound = max(0, d.int("bound", -2, 2))
		s.Until = rapid.SampledFrom([]string{"", "", workflow.UntilAny, workflow.UntilRace, workflow.UntilQuorum}).Draw(d.t, "until")
		if s.Until == workflow.UntilQuorum {
			s.Quorum = d.int("quorum", 1, parts)
		}
	}
	return s
}

// after puts an agent before a shape that says the same whatever it is given.
func (d *drawer) after(s *Shape) *Shape {
	first := d.shape("agent")
	first.Fixed = true
	seq := d.shape("seq")
	seq.Parts = []*Shape{first, s}
	return seq
}

func leaf(kind string) bool {
	return kind == "agent" || kind == "func" || kind == "tool" || kind == "set" || kind == "sleep" || kind == "signal" || kind == "helped" || kind == "handed"
}

// ReplyTo is what every agent answers: a text that depends on who asks and on the prompt alone, with "yes" in about half of them.
func ReplyTo(node, prompt string) string {
	sum := sha256.Sum256([]byte(node + "\x00" + prompt))
	word := "no"
	if sum[0]%2 == 0 {
		word = "yes"
	}
	return fmt.Sprintf("%s says %s %s", node, word, hex.EncodeToString(sum[1:4]))
}

// writes tells whether anything in a shape changes the state around it.
func (s *Shape) writes() bool {
	return s.State == StateIn || s.State == "" && slices.ContainsFunc(s.Parts, (*Shape).writes)
}

// loops tells whether a shape has a loop in it.
func (s *Shape) loops() bool { return s.Kind == "loop" || slices.ContainsFunc(s.Parts, (*Shape).loops) }

// Calm takes out of a shape what depends on which result comes first, and what asks people, fails or is tried again: what its agents are asked then
// depends on what came before them alone (P42).
func (s *Shape) Calm() {
	s.Until, s.OnFailure, s.Fails, s.Retries, s.Caught = "", "", 0, 0, ""
	switch s.Kind {
	case "ask":
		s.Kind = "if"
	case "late":
		s.Kind = "seq"
	}
	for _, p := range s.Parts {
		p.Calm()
	}
}

// SetLoops gives every loop of a shape the same bound, as workflows have one for all.
func (s *Shape) SetLoops(n int) {
	if s.Kind == "loop" {
		s.Max = n
	}
	for _, p := range s.Parts {
		p.SetLoops(n)
	}
}

// String shows the shape for failures.
func (s *Shape) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
