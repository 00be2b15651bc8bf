package enginetest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/jsontext"
	"github.com/hocket-run/hocket/workflow"
)

// Outcome is the result of a shape.
type Outcome struct {
	// Output is the output if Ok is set, and Source the node that produced it.
	Output event.Value
	Source string
	// Ok means that the shape passes its output on, Ended that its path ends inside, and Failed
	// that it fails. If none is set, the result depends on which result arrives first.
	Ok, Ended, Failed bool
	// Vague means that the output depends on which result arrives first.
	Vague bool
	// Calls is the number of model, tool and function calls, including attempts; negative if it
	// depends on which result arrives first.
	Calls int
}

// fixedPrompt is the prompt of a fixed agent.
const fixedPrompt = "take over"

// Twin evaluates a shape in the slow, obvious way: no tokens, no events, no order.
func Twin(s *Shape, input event.Value) Outcome {
	if s.Asks && !saysYes(input) {
		return Outcome{Ok: true, Output: input, Source: s.ID}
	}
	o := twin(s, input)
	if o.Failed && s.Caught != "" {
		o = Outcome{Ok: true, Output: input, Source: s.ID, Calls: o.Calls, Vague: s.Kind == "map" &&
			s.OnFailure == workflow.FailCollect && s.Caught == CaughtOn}
		if s.Caught == CaughtDefault {
			o.Output = expr.Quote(s.fallback())
		}
	}
	return o
}

// twin evaluates a shape that is not skipped, up to its failure.
func twin(s *Shape, input event.Value) Outcome {
	switch s.Kind {
	case "sleep":
		return Outcome{Ok: true, Source: s.ID, Output: input}
	case "signal":
		return Outcome{Ok: true, Source: s.ID, Output: signalled(s.ID)}
	case "set":
		if len(input) == 0 {
			return Outcome{Failed: true} // there is no value to hold
		}
		return Outcome{Ok: true, Source: s.ID, Output: event.Value(`{"was":` + string(input) + `}`)}
	case "agent", "func", "tool", "helped", "handed":
		return twinLeaf(s, input)
	case "seq":
		o := Outcome{Output: input, Ok: true}
		for _, p := range s.Parts {
			if o = then(o, p); !o.Ok {
				break
			}
		}
		return o
	case "if", "ask":
		way := 1
		if s.Kind == "if" && saysYes(input) || s.Kind == "ask" && saysYes(expr.Quote(ReplyTo(s.ID, expr.Text(input)))) {
			way = 0
		}
		if way == len(s.Parts) {
			return Outcome{Ended: true}
		}
		return Twin(s.Parts[way], input)
	case "loop":
		o := Outcome{Output: input, Ok: true}
		for range s.Max {
			if o = then(o, s.Parts[0]); !o.Ok || o.Vague || saysYes(o.Output) {
				if o.Vague {
					return Outcome{Calls: -1}
				}
				o.Source = s.ID + "-check"
				return o
			}
		}
		if len(s.Parts) > 1 {
			return then(o, s.Parts[1])
		}
		return Outcome{Failed: true, Calls: o.Calls}
	case "sub":
		o := Twin(s.Parts[0], input)
		if o.Ended { // the output is that of the last step inside
			o.Ended, o.Ok, o.Vague = false, true, true
		}
		if o.Ok && s.State != "" { // the output is the initial state
			o.Output, o.Vague = nil, false
			if s.State == StateOut {
				o.Output, o.Vague = object(input), s.Parts[0].writes()
			}
		}
		if !o.Ok && s.Retries > 0 {
			o.Calls = -1
		}
		o.Source = s.ID
		return o
	case "try":
		o := Twin(s.Parts[0], input)
		switch {
		case o.Failed:
			caught := Twin(s.Parts[1], nil)
			caught.Calls = sum(o.Calls, caught.Calls)
			return caught
		case !o.Ok && !o.Ended:
			return Outcome{Calls: -1}
		}
		return o
	case "late":
		return Outcome{Failed: true, Calls: -1} // because of its timeout, or because its part fails
	case "meet":
		return twinMeet(s, input)
	case "par":
		return twinPar(s, input)
	case "map":
		return twinMap(s)
	}
	panic("unknown kind " + s.Kind)
}

// then continues with a shape.
func then(o Outcome, s *Shape) Outcome {
	if o.Vague && !s.Fixed {
		if s.Kind != "seq" || !s.Parts[0].Fixed {
			return Outcome{Calls: -1} // the rest may depend on it
		}
	}
	next := Twin(s, o.Output)
	next.Calls = sum(o.Calls, next.Calls)
	return next
}

func sum(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

func saysYes(v event.Value) bool { return strings.Contains(strings.ToLower(expr.Text(v)), "yes") }

func twinLeaf(s *Shape, input event.Value) Outcome {
	prompt := expr.Text(input)
	switch {
	case s.Fixed:
		prompt = fixedPrompt
	case s.Kind == "tool" && len(input) > 0 && !bytes.HasPrefix(input, []byte("{")):
		prompt = `{"input":` + string(expr.Quote(prompt)) + `}`
	case s.Kind == "helped":
		return Outcome{Ok: true, Source: s.ID, Calls: 4,
			Output: expr.Quote(ReplyTo(s.ID, prompt+toolFinding(s.ID)+ReplyTo(helper(s.ID), s.ID)))}
	case s.Kind == "handed":
		heard := cmp.Or(strings.TrimSpace(prompt), "Execute your task.") + s.ID +
			": \n[calls search {}]\n[calls handoff " + handoffArguments(s.ID) + "]" +
			"[search returned] " + toolFinding(s.ID) + "[handoff returned] The conversation is handed over to " +
			helper(s.ID) + "."
		return Outcome{Ok: true, Source: s.ID, Calls: 3, Output: expr.Quote(ReplyTo(helper(s.ID), heard))}
	}
	if s.Fails > s.Retries {
		return Outcome{Failed: true, Calls: s.Retries + 1}
	}
	return Outcome{Ok: true, Source: s.ID, Calls: s.Fails + 1, Output: expr.Quote(ReplyTo(s.ID, prompt))}
}

// helper is the sub-agent of a helped agent, and the agent to which a handed one hands over;
// hangingAgent is the agent next to a late part that never answers; toolFinding is the result of
// the agent's tool; handoffArguments are the arguments of its handoff.
func helper(id string) string           { return id + "-helper" }
func hangingAgent(id string) string     { return id + "-hangs" }
func toolFinding(id string) string      { return "found for " + id }
func handoffArguments(id string) string { return `{"agent":` + string(expr.Quote(helper(id))) + `}` }

// twinMeet evaluates a meet: all branches run, and the join outputs what arrives, by source, in
// declared order.
func twinMeet(s *Shape, input event.Value) Outcome {
	o := Outcome{Source: s.ID + "/join"}
	open := false
	var fields []string
	for _, p := range s.Parts {
		b := Twin(p, input)
		o.Calls = sum(o.Calls, b.Calls)
		switch {
		case b.Failed:
			return Outcome{Failed: true, Calls: -1} // the other branches are cancelled
		case b.Ok:
			o.Vague = o.Vague || b.Vague
			fields = append(fields, fmt.Sprintf("%q:%s", b.Source, orNull(b.Output)))
		case !b.Ended:
			open = true
		}
	}
	if open {
		return Outcome{Calls: -1}
	}
	o.Ok, o.Ended = len(fields) > 0, len(fields) == 0
	o.Output = event.Value("{" + strings.Join(fields, ",") + "}")
	return o
}

// twinMap evaluates the body separately for each item.
func twinMap(s *Shape) Outcome {
	o := Outcome{Ok: true, Source: s.ID}
	items, _ := jsontext.Items(s.list())
	outputs, failed, open := []string{}, false, false
	for _, item := range items {
		b := Twin(s.Parts[0], item)
		o.Calls = sum(o.Calls, b.Calls)
		switch {
		case b.Failed:
			failed = true
			outputs = append(outputs, "null")
		case b.Ended: // the output is that of the last step inside
			o.Vague = true
		case !b.Ok:
			open = true
		default:
			o.Vague = o.Vague || b.Vague
			outputs = append(outputs, string(orNull(b.Output)))
		}
	}
	o.Output = event.Value("[" + strings.Join(outputs, ",") + "]")
	switch {
	case failed && s.OnFailure != workflow.FailSkip:
		if o.Ok, o.Failed = false, true; s.OnFailure == "" || s.Retries > 0 {
			o.Calls = -1
		}
	case open && s.OnFailure != workflow.FailSkip:
		return Outcome{Calls: -1}
	case open:
		o.Vague, o.Calls = true, -1
	}
	return o
}

func twinPar(s *Shape, input event.Value) Outcome {
	o := Outcome{Source: s.ID}
	var fields []string
	arrived, failed, vague := 0, 0, 0
	for i, p := range s.Parts {
		b := Twin(p, input)
		o.Calls = sum(o.Calls, b.Calls)
		switch {
		case b.Failed:
			failed++
		case b.Ok:
			arrived++
			o.Vague = o.Vague || b.Vague
			fields = append(fields, fmt.Sprintf("%q:%s", fmt.Sprintf("b%d", i), orNull(b.Output)))
		case !b.Ended:
			vague++
		}
	}
	o.Output = event.Value("{" + strings.Join(fields, ",") + "}")
	early := s.Until == workflow.UntilAny || s.Until == workflow.UntilRace || s.Until == workflow.UntilQuorum
	fast := !early && s.OnFailure == ""
	if early && len(s.Parts) > 1 || fast && failed > 0 || s.Retries > 0 && failed > 0 || vague > 0 {
		o.Calls = -1
	}
	need := 1
	if s.Until == workflow.UntilQuorum {
		need = s.Quorum
	}
	switch {
	case !early && failed > 0 && (fast || s.OnFailure == workflow.FailCollect):
		o.Failed = true
	case vague > 0:
		return Outcome{Calls: -1}
	case s.Until == workflow.UntilRace && failed > 0:
		o.Failed = arrived == 0
		o.Ok = false
	case early && arrived >= need:
		o.Ok = true
		o.Vague = o.Vague || len(s.Parts) > 1
	case failed > 0 && (early || arrived == 0):
		o.Failed = true
	default:
		o.Ok, o.Ended = arrived > 0, arrived == 0
	}
	return o
}
