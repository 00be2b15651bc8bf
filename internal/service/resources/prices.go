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
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// cost returns the cost of a model call in USD, or nil if its price is unknown (D14). It is a
// driver.RunResources.Price.
func (c *Config) cost(ref string, u chat.Usage) *float64 { return c.Prices.Cost(fullRef(ref), u) }

// fullRef returns a reference with its provider, if a bare name determines one.
func fullRef(ref string) string {
	full, err := model.ParseRef(ref)
	if err != nil {
		return ref
	}
	return full.String()
}

// prices returns the prices of the models of a workflow, by the references that calls of its runs
// use, sorted. missing names an agent and a model whose price is unknown; "" if all are known.
func (op *Opener) prices(w *workflow.Workflow, override string) (prices []event.Price, missing string) {
	seen, compacts := map[string]bool{}, false
	for _, flow := range definition.FlowsOf(w) {
		compacts = compacts || slices.ContainsFunc(flow.Agents, func(a workflow.Agent) bool {
			return a.Compaction != nil
		})
	}
	reg := op.registry(w, false) // names of the operator's models are aliases
	for _, flow := range definition.FlowsOf(w) {
		for i := range flow.Agents {
			a := &flow.Agents[i]
			for _, ref := range a.Models() {
				if seen[ref] {
					continue
				}
				seen[ref] = true
				full := cmp.Or(override, ref, op.defaultModel())
				if _, known, err := reg.Key(full); err == nil {
					full = known.String()
				} else {
					full = fullRef(full)
				}
				if rate, ok := op.cfg.Prices.Rate(full); ok {
					price := event.Price{Model: ref, Rate: rate}
					if compacts {
						price.Window = int64(model.Window(full))
					}
					prices = append(prices, price)
				} else if missing == "" {
					missing = fmt.Sprintf("agent %q has %s, whose price is not known", a.Title(),
						cmp.Or(strconv.Quote(full), "no model"))
				}
			}
		}
	}
	slices.SortStableFunc(prices, func(a, b event.Price) int { return strings.Compare(a.Model, b.Model) })
	return prices, missing
}

// hasMoneyBudget reports whether a run, or a node of it, has a budget in money.
func hasMoneyBudget(w *workflow.Workflow, over workflow.Limits, above *workflow.Budget) bool {
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

// Price adds the prices of the run's models to spec. It returns an *InvalidError if a budget in
// money applies to a model of unknown price: it could not be enforced.
func (op *Opener) Price(spec *driver.Spec) error {
	var missing string
	if spec.Prices, missing = op.prices(spec.Workflow, spec.Model); missing != "" &&
		hasMoneyBudget(spec.Workflow, spec.Limits, spec.Above) {
		return failure.Refuse(errcode.PriceMissing, errcode.Fields{"missing": missing}, engine.ErrPrice)
	}
	return nil
}
