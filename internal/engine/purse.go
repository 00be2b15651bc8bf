package engine

import (
	"iter"
	"math"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// purse is a budget with what is left of it for one step.
type purse struct {
	bound    string
	node     string // with a budget of its own; "" for the others
	budget   workflow.Budget
	spent    spending
	reserved spending
}

// purses gives the budgets that a step's calls must fit, the innermost node's own first.
func (r *Run) purses(id int) []purse {
	var out []purse
	for step := range r.around(id) {
		b := r.stepNode(step).Budget
		if b == nil {
			continue
		}
		node := r.nodeID(step)
		p := purse{bound: boundByNode, node: node, budget: *b, spent: r.s.NodeSpent[node]}
		r.reservations(&p, func(other int) bool {
			for s := range r.around(other) {
				if r.nodeID(s) == node {
					return true
				}
			}
			return false
		})
		out = append(out, p)
	}
	if b := r.s.Above; b != nil { // before the run's own: where both are used up, the run above decides what follows
		p := purse{bound: boundByAbove, budget: *b, spent: r.s.Spent}
		r.reservations(&p, func(int) bool { return true })
		out = append(out, p)
	}
	if b := r.s.Limits.Budget(); b.Bounds() {
		p := purse{bound: boundByRun, budget: b, spent: r.s.Spent}
		r.reservations(&p, func(int) bool { return true })
		out = append(out, p)
	}
	return out
}

// around gives a step, then the blocks and sub-flows around it, from inside out: their budgets bound it too.
func (r *Run) around(id int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; id > 0 && yield(id); id = r.stepScope(id).Owner {
		}
	}
}

// room gives how many tokens of output a call with that input may have; below 0: not even the input fits. detail names what bounds it.
func (p *purse) room(input int64, taken spending, rate chat.Rate, priced bool) (output int64, detail string, limit int64) {
	output = math.MaxInt64
	if b := p.budget.MaxCalls; b > 0 && taken.Calls >= b {
		output, detail, limit = -1, detailCalls, b
	}
	if b := p.budget.MaxTokens; b > 0 {
		if left := b - chat.AddTokens(taken.Tokens, input); left < output {
			output, detail, limit = left, detailTokens, b
		}
	}
	if b := p.budget.MaxCostUSD; b > 0 {
		left := chat.ToMoney(b) - taken.Cost
		most := int64(math.MaxInt64)
		switch {
		case left <= 0:
			most = -1
		case priced:
			most = rate.MostOutput(input, left)
		}
		if most < output {
			output, detail, limit = most, detailMoney, microUSD(b)
		}
	}
	return output, detail, limit
}
