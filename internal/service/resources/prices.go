package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// cost gives what a call of a model cost in USD, nil where its price is not known (D14). It is a driver.RunResources.Price.
func (c *Config) cost(ref string, u chat.Usage) *float64 { return c.Prices.Cost(fullRef(ref), u) }

// fullRef gives a reference with its provider, where a bare name tells one.
func fullRef(ref string) string {
	full, err := model.ParseRef(ref)
	if err != nil {
		return ref
	}
	return full.String()
}

// prices gives what the models of a workflow cost, by the references under which calls of its runs name them, sorted. missing names an agent and a
// model whose price is not known; "" where all are.
func (op *Opener) prices(w *workflow.Workflow, override string) (prices []engine.Price, missing string) {
	seen, compacts := map[string]bool{}, false
	for _, flow := range definition.FlowsOf(w) {
		compacts = compacts || slices.ContainsFunc(flow.Agents, func(a workflow.Agent) bool { return a.Compaction != nil })
	}
	reg := op.registry(w, false) // names of the operator's models stand for others
	for _, flow := range definition.FlowsOf(w) {
		for i := range flow.Agents {
			a := &flow.Agents[i]
			for _, ref := range a.Models() {
				if seen[ref] {
					continue
				}
				seen[ref] = true
				full := cmp.Or(override, ref, op.defaultModel(w))
				if _, known, err := reg.Key(full); err == nil {
					full = known.String()
				} else {
					full = fullRef(full)
				}
				if rate, ok := op.cfg.Prices.Rate(full); ok {
					price := engine.Price{Model: ref, Rate: rate}
					if compacts {
						price.Window = int64(model.Window(full))
					}
					prices = append(prices, price)
				} else if missing == "" {
					missing = fmt.Sprintf("agent %q has %s, whose price is not known", a.Title(), cmp.Or(strconv.Quote(full), "no model"))
				}
			}
		}
	}
	slices.SortFunc(prices, func(a, b engine.Price) int { return strings.Compare(a.Model, b.Model) })
	return prices, missing
}

// boundsMoney tells whether a run has a budget of money, or a node of it.
func boundsMoney(w *workflow.Workflow, over workflow.Limits, above *workflow.Budget) bool {
	if over.MaxCostUSD > 0 || w.Limits.MaxCostUSD > 0 || above != nil && above.MaxCostUSD > 0 {
		return true
	}
	for _, flow := range definition.FlowsOf(w) {
		for i := range flow.Nodes {
			if b := flow.Nodes[i].Budget; b != nil && b.MaxCostUSD > 0 {
				return true
			}
		}
	}
	return false
}

// Price says in spec what the run's models cost. Errors: *InvalidError where a budget of money bounds a model of unknown price: it could not hold.
func (op *Opener) Price(spec *driver.Spec) error {
	var missing string
	if spec.Prices, missing = op.prices(spec.Workflow, spec.Model); missing != "" && boundsMoney(spec.Workflow, spec.Limits, spec.Above) {
		return failure.Refuse(errcode.PriceMissing, errcode.Fields{"missing": missing}, engine.ErrPrice)
	}
	return nil
}
