package enginetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/workflow"
)

// Shape is a structured workflow as a tree: easy to generate at random, easy to evaluate directly
// ([Twin]), and easy to compile to a graph.
type Shape struct {
	// Kind is agent, func, tool, set (a value built from its input), signal (one of three names,
	// for the node alone), helped (an agent that calls a tool and a sub-agent), handed (an agent
	// that calls a tool and hands over), seq, if, par, loop, ask (an approval), sub (a sub-flow),
	// map (over its own list), late (a part next to an agent that never answers, whose timeout
	// eventually expires), try (a step and what follows its failure) or meet (branches without a
	// fork that meet at a free join).
	Kind  string
	ID    string
	Parts []*Shape
	Max   int `json:",omitzero"` // for a loop: maximum runs of the body
	// Fixed means that the agent's prompt does not depend on its input.
	Fixed bool `json:",omitzero"`
	// Fails is the number of failing attempts of a leaf; Retries is how often a leaf, a par or a
	// sub is retried.
	Fails   int `json:",omitzero"`
	Retries int `json:",omitzero"`
	// Asks means that a leaf, a par or a sub is skipped if its input does not say yes. Caught is
	// what follows if it fails: CaughtOn or CaughtDefault; "" means that the failure propagates
	// outward.
	Asks   bool   `json:",omitzero"`
	Caught string `json:",omitzero"`
	// State applies to a sub: "" means no state of its own, StateOut that its state is its output,
	// StateIn that its state goes into the surrounding state.
	State string `json:",omitzero"`
	// Items is the number of items of a map.
	Items int `json:",omitzero"`
	// The following fields apply to a par: see workflow.Fork. OnFailure and Bound also apply to a
	// map: see workflow.Map.
	Until     string `json:",omitzero"`
	OnFailure string `json:",omitzero"`
	Quorum    int    `json:",omitzero"`
	Bound     int    `json:",omitzero"`
}

// Where the state of a sub-flow goes.
const (
	StateOut = "out"
	StateIn  = "in"
)

// What follows a caught failure: the input of the part or a default is passed on.
const (
	CaughtOn      = "on"
	CaughtDefault = "default"
)

// DrawShape generates a random shape, at most depth levels deep, of agents, sequences, choices,
// parallel blocks and loops.
func DrawShape(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, kinds: []string{"agent", "seq", "if", "par", "loop"}}
	return d.draw(depth)
}

// DrawWild generates a random shape from all kinds that end without a timer: all but late.
func DrawWild(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, wild: true, kinds: wildKinds}
	return d.draw(depth)
}

// DrawTimed generates a random shape from all kinds. Calls of late parts have no answer until they
// are cancelled.
func DrawTimed(t *rapid.T, depth int) *Shape {
	d := drawer{t: t, wild: true, kinds: append(slices.Clip(wildKinds), "late")}
	return d.draw(depth)
}

var wildKinds = []string{"agent", "func", "tool", "set", "sleep", "signal", "helped", "handed", "seq", "if", "par",
	"loop", "ask", "sub", "map", "try", "meet"}

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
			parts = d.int("ways", 1, 2) // without the second part the path ends there
		}
	case "ask":
		parts = d.int("ways", 1, 2)
	case "loop":
		if parts, s.Max = 1, d.int("max", 1, 4); d.wild {
			parts = d.int("limit", 1, 2) // the second part follows the limit
		}
	case "sub", "map", "late":
		parts = 1
	case "try":
		s.Parts = append(s.Parts, d.drawKind(rapid.SampledFrom([]string{"agent", "func", "tool", "par", "sub", "map"}).
			Draw(d.t, "guarded"), depth-1))
		s.Parts = append(s.Parts, d.prependFixedAgent(d.draw(depth-1)))
	}
	for range parts {
		s.Parts = append(s.Parts, d.draw(depth-1))
	}
	if !d.wild {
		return s
	}
	if leaf(kind) || kind == "par" || kind == "sub" || kind == "map" || kind == "late" {
		s.Asks = d.int("asks", 0, 5) == 0
		if !s.loops() { // a loop's limit is the run's, which nothing catches
			s.Caught = rapid.SampledFrom([]string{"", "", "", CaughtOn, CaughtDefault}).Draw(d.t, "caught")
		}
	}
	if leaf(kind) && kind != "set" && kind != "sleep" && kind != "signal" && kind != "helped" && kind != "handed" &&
		d.int("trouble", 0, 3) == 0 {
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
		s.Until = rapid.SampledFrom([]string{"", "", workflow.UntilAny, workflow.UntilRace, workflow.UntilQuorum}).Draw(
			d.t, "until")
		if s.Until == workflow.UntilQuorum {
			s.Quorum = d.int("quorum", 1, parts)
		}
	}
	return s
}

// prependFixedAgent puts an agent that returns the same reply whatever its input is in front of a
// shape.
func (d *drawer) prependFixedAgent(s *Shape) *Shape {
	first := d.shape("agent")
	first.Fixed = true
	seq := d.shape("seq")
	seq.Parts = []*Shape{first, s}
	return seq
}

func leaf(kind string) bool {
	return kind == "agent" || kind == "func" || kind == "tool" || kind == "set" || kind == "sleep" ||
		kind == "signal" || kind == "helped" || kind == "handed"
}

// ReplyTo returns the reply of every agent: a text that depends only on the node and the prompt,
// with "yes" in about half of the cases.
func ReplyTo(node, prompt string) string {
	sum := sha256.Sum256([]byte(node + "\x00" + prompt))
	word := "no"
	if sum[0]%2 == 0 {
		word = "yes"
	}
	return fmt.Sprintf("%s says %s %s", node, word, hex.EncodeToString(sum[1:4]))
}

// writes reports whether any part of a shape changes the surrounding state.
func (s *Shape) writes() bool {
	return s.State == StateIn || s.State == "" && slices.ContainsFunc(s.Parts, (*Shape).writes)
}

// loops reports whether a shape contains a loop.
func (s *Shape) loops() bool { return s.Kind == "loop" || slices.ContainsFunc(s.Parts, (*Shape).loops) }

// Calm removes everything from a shape that depends on which result arrives first, asks people,
// fails or is retried: the prompts of its agents then depend only on what came before them (P42).
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

// SetLoops sets the limit of every loop of a shape to n, as workflows have one limit for all loops.
func (s *Shape) SetLoops(n int) {
	if s.Kind == "loop" {
		s.Max = n
	}
	for _, p := range s.Parts {
		p.SetLoops(n)
	}
}

// String formats the shape for failure messages.
func (s *Shape) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Host implements the functions of shapes: the state of a sub-flow starts with its input, under the
// name "given", and goes into a field for the sub-flow.
type Host struct{ engine.Host }

// Value returns the initial state of a sub-flow.
func (Host) Value(_ string, v engine.View) (event.Value, error) { return object(v.Input), nil }

// Merge stores the final state of the sub-flow of that name in a field of that name. The state must
// still contain what it started with.
func (Host) Merge(name string, outputs map[string]event.Value, v engine.View) (map[string]event.Value, error) {
	begin := strings.TrimSuffix(string(object(v.Input)), "}")
	if len(outputs) != 1 || !strings.HasPrefix(string(outputs[name]), begin) {
		return nil, fmt.Errorf("the state of %s ends with %s, it began with %s", name, outputs[name], v.Input)
	}
	return map[string]event.Value{name: outputs[name]}, nil
}

func object(given event.Value) event.Value {
	return event.Value(`{"given":` + string(orNull(given)) + `}`)
}

func orNull(v event.Value) event.Value {
	if len(v) == 0 {
		return event.Value("null")
	}
	return v
}
