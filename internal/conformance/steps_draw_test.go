package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// twinStep is one step of a random document.
type twinStep struct {
	kind string // agent, condition or parallel
	id   string
	// fails is the number of failing attempts of an agent's execution, retries its
	// retry.max_attempts.
	fails, retries int
	// quiet means that the agent's output is sometimes empty, so that no condition reads it (S4-5).
	quiet bool
	// on is the step that a condition reads; yes and no are its branches; jump names the step to
	// which the branch leads back, or is "".
	on              string
	yes, no         []*twinStep
	yesJump, noJump string
	// steps are the children of a parallel step.
	steps []*twinStep
}

type twinDocument struct {
	r     *rand.Rand
	n     int
	limit int
	steps []*twinStep
	// inside is the number of blocks that enclose the current position.
	inside int
}

func drawDocument(seed uint64) *twinDocument {
	d := &twinDocument{r: rand.New(rand.NewPCG(seed, 4))}
	d.limit = 1 + d.r.IntN(3)
	if d.r.IntN(2) == 0 {
		d.steps = d.loop()
	}
	d.steps = append(d.steps, d.list(1+d.r.IntN(5), 3, nil, nil)...)
	return d
}

// loop generates a block inside a loop, so that its branches see outputs of an earlier pass.
func (d *twinDocument) loop() []*twinStep {
	first, judge := d.agent(), d.agent()
	first.quiet, judge.quiet = false, false
	block := d.parallel(3, []string{first.id})
	return []*twinStep{first, block, judge, {kind: "condition", id: d.id("c"), on: judge.id, no: []*twinStep{d.agent()},
		noJump: first.id}}
}

// list generates a sequence of steps. refs are the steps that conditions may read, targets the
// steps to which branches may lead back.
func (d *twinDocument) list(n, depth int, refs, targets []string) []*twinStep {
	refs, targets = slices.Clone(refs), slices.Clone(targets)
	var out []*twinStep
	for range n {
		if d.n >= twinSteps {
			break
		}
		switch k := d.r.IntN(6); {
		case k == 0 && depth > 0:
			s := d.parallel(depth, refs)
			for _, c := range s.steps {
				if c.kind == "agent" && !c.quiet {
					refs = append(refs, fmt.Sprintf("%s.outputs.%s", s.id, c.id))
				}
			}
			targets = append(targets, s.id)
			out = append(out, s)
		case k < 3 && depth > 0 && len(refs) > 0:
			s := &twinStep{kind: "condition", id: d.id("c"), on: refs[d.r.IntN(len(refs))]}
			s.yes, s.yesJump = d.branch(depth, refs, targets)
			s.no, s.noJump = d.branch(depth, refs, targets)
			if s.yesJump != "" {
				s.noJump = "" // one branch continues: unreachable steps are rejected
			}
			if len(s.yes)+len(s.no) == 0 && s.yesJump+s.noJump == "" {
				s.no = []*twinStep{d.agent()}
			}
			out = append(out, s)
		default:
			s := d.agent()
			targets = append(targets, s.id)
			if !s.quiet {
				refs = append(refs, s.id)
			}
			out = append(out, s)
		}
	}
	return out
}

func (d *twinDocument) branch(depth int, refs, targets []string) (list []*twinStep, jump string) {
	list = d.list(d.r.IntN(3), depth-1, refs, targets)
	if len(targets) > 0 && d.r.IntN(3) == 0 {
		jump = targets[d.r.IntN(len(targets))]
	}
	return list, jump
}

// parallel generates a block. No jump leads out of a branch or from one branch into another.
func (d *twinDocument) parallel(depth int, refs []string) *twinStep {
	s := &twinStep{kind: "parallel", id: d.id("p")}
	d.inside++
	defer func() { d.inside-- }()
	for range 1 + d.r.IntN(3) {
		switch k := d.r.IntN(5); {
		case k == 0 && depth > 1:
			s.steps = append(s.steps, d.parallel(depth-1, refs))
		case k < 3 && depth > 0 && len(refs) > 0:
			c := &twinStep{kind: "condition", id: d.id("c"), on: refs[d.r.IntN(len(refs))]}
			c.yes, c.yesJump = d.branch(depth, refs, nil)
			c.no, c.noJump = d.branch(depth, refs, nil)
			if len(c.yes)+len(c.no) == 0 {
				c.no = []*twinStep{d.agent(), d.agent()}
			}
			s.steps = append(s.steps, c)
		default:
			s.steps = append(s.steps, d.agent())
		}
	}
	return s
}

func (d *twinDocument) agent() *twinStep {
	s := &twinStep{kind: "agent", id: d.id("s"), quiet: d.r.IntN(4) == 0}
	if d.r.IntN(6) == 0 {
		s.retries, s.fails = d.r.IntN(3), d.r.IntN(3)
	}
	if d.inside > 0 {
		s.fails = min(s.fails, s.retries) // which branches a failure cuts off depends on timing
	}
	return s
}

func (d *twinDocument) id(kind string) string {
	d.n++
	return fmt.Sprintf("%s%d", kind, d.n)
}

// text returns the source of the document; every agent step has its own agent, named after the
// step.
func (d *twinDocument) text() string {
	var agents []string
	var write func(list []*twinStep, jump string) []any
	write = func(list []*twinStep, jump string) []any {
		out := []any{}
		for _, s := range list {
			m := map[string]any{"id": s.id, "type": s.kind}
			switch s.kind {
			case "agent":
				agents = append(agents, "a"+s.id)
				m["name"] = "a" + s.id
				if s.retries > 0 {
					m["retry"] = map[string]any{"max_attempts": s.retries}
				}
			case "condition":
				m["condition"] = "{{ $steps." + s.on + ".output.ok }}"
				m["true"], m["false"] = write(s.yes, s.yesJump), write(s.no, s.noJump)
			case "parallel":
				m["steps"] = write(s.steps, "")
			}
			out = append(out, m)
		}
		if jump != "" {
			out = append(out, jump)
		}
		return out
	}
	list := write(d.steps, "")
	return steps(strings.Join(agents, " "), fmt.Sprintf("\n  max_loop_iterations: %d\n  steps: %s\n", d.limit,
		asJSON(list)))
}

func findTwin(list []*twinStep, id string) *twinStep {
	for _, s := range list {
		if s.id == id {
			return s
		}
		for _, inner := range [][]*twinStep{s.yes, s.no, s.steps} {
			if found := findTwin(inner, id); found != nil {
				return found
			}
		}
	}
	return nil
}
