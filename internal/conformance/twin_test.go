package conformance_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// item is a step of a random document, or a way back in a branch.
type item struct {
	kind  byte // a: agent, c: condition, p: parallel, j: way back
	id    string
	reads *item // of a condition: an agent step
	path  string
	yes   []*item
	no    []*item
	in    []*item // of a parallel block
	to    *item   // of a way back
	n     int     // the place in the document
}

// author writes random documents. Every written id is there once; agent steps all have the agent x.
type author struct {
	r     *rand.Rand
	n     int
	later map[*item]bool // read by a condition before them: each by one only
}

func (g *author) new(kind byte) *item {
	g.n++
	return &item{kind: kind, id: fmt.Sprint("s", g.n), n: g.n}
}

// list writes a list of steps. known are steps of enclosing lists and earlier ones, back those among them that a branch may go back to.
func (g *author) list(depth int, known, back []*item, branch bool) []*item {
	var l []*item
	known, back = slices.Clone(known), slices.Clone(back)
	for range 1 + g.r.IntN(4) {
		k := g.r.IntN(8)
		switch {
		case k < 4 || depth == 3:
			it := g.new('a')
			l, known, back = append(l, it), append(known, it), append(back, it)
		case k < 7:
			it := g.new('c')
			if len(known) > 0 {
				it.reads = known[g.r.IntN(len(known))]
			}
			if g.r.IntN(3) > 0 {
				it.yes = g.list(depth+1, known, back, true)
			}
			if g.r.IntN(3) > 0 || it.yes == nil {
				it.no = g.list(depth+1, known, back, true)
			}
			l = append(l, it)
		default:
			it := g.new('p')
			for range 1 + g.r.IntN(3) {
				it.in = append(it.in, g.lane(depth+1, known))
			}
			for _, c := range it.in {
				if c.kind == 'a' {
					c.path = it.id + ".outputs."
					known = append(known, c)
				}
			}
			l, back = append(l, it), append(back, it)
		}
	}
	for i, it := range l {
		if it.kind != 'c' {
			continue
		}
		if j := i + 1 + g.r.IntN(4); j < len(l) && l[j].kind == 'a' && !g.later[l[j]] && g.r.IntN(2) == 0 {
			it.reads, g.later[l[j]] = l[j], true
		}
	}
	if branch && len(back) > 0 && g.r.IntN(4) == 0 {
		l = append(l, &item{kind: 'j', to: back[g.r.IntN(len(back))]})
	}
	return l
}

// lane writes one child of a block.
func (g *author) lane(depth int, known []*item) *item {
	if g.r.IntN(3) > 0 || len(known) == 0 {
		return g.new('a')
	}
	it := g.new('c')
	it.reads = known[g.r.IntN(len(known))]
	it.no = g.list(depth+1, known, nil, true)
	return it
}

// write gives the YAML of a list.
func write(l []*item, indent string) string {
	var b strings.Builder
	for _, it := range l {
		switch it.kind {
		case 'a':
			fmt.Fprintf(&b, "%s- {id: %s, type: agent, name: x}\n", indent, it.id)
		case 'j':
			fmt.Fprintf(&b, "%s- %s\n", indent, it.to.id)
		case 'p':
			fmt.Fprintf(&b, "%s- id: %s\n%s  type: parallel\n%s  steps:\n%s", indent, it.id, indent, indent, write(it.in, indent+"  "))
		case 'c':
			condition := "true"
			if it.reads != nil {
				condition = "{{ $steps." + it.reads.path + it.reads.id + ".output }}"
			}
			fmt.Fprintf(&b, "%s- id: %s\n%s  type: condition\n%s  condition: \"%s\"\n", indent, it.id, indent, indent, condition)
			if it.yes != nil {
				fmt.Fprintf(&b, "%s  true:\n%s", indent, write(it.yes, indent+"  "))
			}
			if it.no != nil {
				fmt.Fprintf(&b, "%s  false:\n%s", indent, write(it.no, indent+"  "))
			}
		}
	}
	return b.String()
}

// output is what a step gave: a text, or what the steps of a block did.
type output struct {
	of    *item
	text  string
	parts []output
}

// place is where steps run: the outermost lists, or one branch of a block, which sees what was there before it.
type place struct {
	base, own []output
	loops     map[*item]int
}

func (p *place) record(o output) {
	if i := slices.IndexFunc(p.own, func(x output) bool { return x.of == o.of }); i >= 0 {
		p.own[i] = o
		return
	}
	p.own = append(p.own, o)
}

// find gives what a step said, as the place sees it.
func find(outs []output, it *item) (string, bool) {
	for _, o := range outs {
		if o.of == it {
			return o.text, true
		}
		if s, ok := find(o.parts, it); ok {
			return s, true
		}
	}
	return "", false
}

// labels shows outputs as S4-3 and S4-37 say.
func labels(outs []output, path string) []string {
	var l []string
	for _, o := range outs {
		if o.of.kind == 'p' {
			l = append(l, labels(o.parts, path+o.of.id+"/")...)
			continue
		}
		l = append(l, path+o.of.id+" (agent: x)", o.text)
	}
	return l
}

// Ends of a run that is not completed.
var (
	errNoBool = errors.New("condition")
	errLoop   = errors.New("max_loop_iterations")
	errLong   = errors.New("max_steps")
)

// twin runs a document as the rules S4 read, step by step, without graph, journal and concurrency.
type twin struct {
	seed    uint64
	max     int
	steps   int
	headers map[*item]bool
	count   map[*item]int
	calls   []string // `id prompt`
}

// reply is what the agent of a step says the n-th time.
func reply(seed uint64, id string, n int) string {
	h := fnv.New64a()
	fmt.Fprint(h, seed, id, n)
	if h.Sum64()%5 < 3 {
		return "yes"
	}
	return "no"
}

// order puts steps that a condition reads before it (S4-7), and gives them by condition.
func order(l []*item) (out []*item, moved map[*item]*item) {
	moved = map[*item]*item{}
	for i, it := range l {
		if slices.Contains(out, it) {
			continue
		}
		if it.kind == 'c' && it.reads != nil && slices.Contains(l[i+1:], it.reads) {
			moved[it] = it.reads
			out = append(out, it.reads)
		}
		out = append(out, it)
	}
	return out, moved
}

// list runs a list and gives the step to go back to, if any.
func (m *twin) list(l []*item, p *place) (*item, error) {
	seq, moved := order(l)
	back := false
	for i := 0; i < len(seq); i++ {
		to, err := m.step(seq[i], moved[seq[i]], p, back)
		if err != nil {
			return nil, err
		}
		if back = to != nil; !back {
			continue
		}
		if i = slices.Index(seq, to); i < 0 {
			return to, nil
		}
		i--
	}
	return nil, nil
}

// step runs one step. moved is the step that a condition had moved before it; back tells that a way back led here.
func (m *twin) step(it, moved *item, p *place, back bool) (*item, error) {
	if it.kind == 'j' {
		return it.to, nil
	}
	if m.steps++; m.steps > 900 {
		return nil, errLong
	}
	if m.headers[it] {
		if p.loops[it]++; !back {
			p.loops[it] = 1
		}
		if p.loops[it] > m.max {
			return nil, errLoop
		}
	}
	sees := append(slices.Clone(p.base), p.own...)
	switch it.kind {
	case 'a':
		m.count[it]++
		prompt := "go"
		if len(sees) > 0 {
			prompt = prior("go", labels(sees, "")...)
		}
		m.calls = append(m.calls, it.id+" "+prompt)
		p.record(output{of: it, text: reply(m.seed, it.id, m.count[it])})
		return nil, nil
	case 'p':
		out := output{of: it}
		for _, child := range it.in {
			q := &place{base: sees, loops: map[*item]int{}}
			if _, err := m.step(child, nil, q, false); err != nil {
				return nil, err
			}
			slices.SortFunc(q.own, func(a, b output) int { return a.of.n - b.of.n })
			out.parts = append(out.parts, q.own...)
		}
		p.record(out)
		return nil, nil
	}
	said := "yes"
	if it.reads != nil {
		var ok bool
		if said, ok = find(sees, it.reads); !ok {
			return nil, errNoBool
		}
	}
	if said == "yes" {
		return m.list(it.yes, p)
	}
	to, err := m.list(it.no, p)
	if to == nil && err == nil && moved != nil && len(it.no) > 0 {
		to = moved // S4-8 (a)
	}
	return to, err
}

// marks notes the steps that ways back lead to.
func (m *twin) marks(l []*item) {
	_, moved := order(l)
	for it, t := range moved {
		if len(it.no) > 0 {
			m.headers[t] = true
		}
	}
	for _, it := range l {
		if it.kind == 'j' {
			m.headers[it.to] = true
		}
		for _, sub := range [][]*item{it.yes, it.no} {
			m.marks(sub)
		}
		for _, child := range it.in {
			m.marks([]*item{child})
		}
	}
}
