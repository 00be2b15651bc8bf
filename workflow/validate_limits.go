package workflow

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// CheckLimits returns an error if limits that are set for a run are invalid, and nil otherwise.
func CheckLimits(l Limits) error {
	var found diag.List
	c := &checker{w: &Workflow{Limits: l}, l: &found}
	c.checkLimits()
	return found.Err()
}

func (c *checker) checkLimits() {
	l := c.w.Limits
	span := diag.Span{File: c.w.Source.File}
	for _, v := range []struct {
		name string
		bad  bool
	}{
		{"maxSteps", l.MaxSteps != nil && *l.MaxSteps < 0},
		{"maxRounds", l.MaxRounds < 0},
		{"maxLoopIterations", l.MaxLoopIterations < 0},
		{"timeout", l.Timeout < 0},
		{"maxConcurrency", l.MaxConcurrency < 0},
		{"maxTokens", l.MaxTokens < 0},
		{"maxCostUSD", isInvalidNumber(l.MaxCostUSD)},
		{"maxCalls", l.MaxCalls < 0},
		{"maxBytes", l.MaxBytes < 0},
	} {
		if v.bad {
			c.errorf(span, "negative-limit", "%s must not be negative", v.name)
		}
	}
	if !isUncounted(l.Uncounted) {
		c.errorf(span, "unknown-word", "limits.uncounted is %q, not one of %s, %s", l.Uncounted, UncountedRefuse,
			UncountedAllow)
	}
	if !slices.Contains([]string{"", OnBudgetFail, OnBudgetPause}, l.OnBudget) {
		c.errorf(span, "unknown-word", "limits.onBudget is %q, not one of %s, %s", l.OnBudget, OnBudgetFail,
			OnBudgetPause)
	}
}

func isUncounted(word string) bool {
	return slices.Contains([]string{"", UncountedRefuse, UncountedAllow}, word)
}

func (c *checker) checkRules() {
	r := c.w.Rules
	span := diag.Span{File: c.w.Source.File}
	if !slices.Contains([]string{"", FailFast, FailDrain}, r.OnFailure) {
		c.errorf(span, "unknown-word", "rules.onFailure is %q, not one of %s, %s", r.OnFailure, FailFast, FailDrain)
	}
	if len(r.DefaultInput) > 0 && !json.Valid(r.DefaultInput) {
		c.errorf(span, "bad-json", "the default input is not valid JSON")
	}
	if r.Handoff != "" {
		if n := c.nodes[r.Handoff]; n == nil {
			c.errorf(span, "bad-handoff", "the handoff %q is not a node", r.Handoff).Hint = c.similar(r.Handoff,
				c.nodeIDs)
		} else if n.Kind != KindWait {
			c.nodeErrorf(n, "bad-handoff", "the handoff must be a node of kind %s", KindWait)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(r.Reducers)) {
		word := r.Reducers[field]
		name, isFunc := strings.CutPrefix(word, "func:")
		if isFunc && name != "" || slices.Contains([]string{"append", "sum", "merge", "last"}, word) {
			continue
		}
		c.errorf(span, "unknown-word", "the reducer of %q is %q, not one of append, sum, merge, last, func:NAME", field,
			word)
	}
	for _, name := range slices.Sorted(maps.Keys(c.w.Providers)) {
		if kind := c.w.Providers[name].Kind; !slices.Contains([]string{"openai", "anthropic", "google"}, kind) {
			c.errorf(span, "unknown-word", "provider %q is of kind %q, not one of openai, anthropic, google", name,
				kind)
		}
		omit := c.w.Providers[name].Omit
		if i, problem, hint := CheckOmit(omit); i >= 0 {
			c.errorf(span, "unknown-word", "omit of provider %q: %q %s", name, omit[i], problem).Hint = hint
		}
	}
}
