package workflow

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
)

func (c *checker) checkCompaction(a *Agent, k *Compaction) {
	if isInvalidNumber(k.At) || k.At > 1 {
		c.agentErrorf(a, "bad-value", "compaction.at is %v; it must be above 0 and at most 1", k.At)
	}
	if k.Tokens != 0 && k.Tokens < MinCompactTokens {
		c.agentErrorf(a, "bad-value", "compaction.tokens is %d; it must be %d or more", k.Tokens, MinCompactTokens)
	}
	if k.Keep < 0 || k.Keep > MaxCompactKeep {
		c.agentErrorf(a, "bad-value", "compaction.keep is %d; it must be between 0 and %d", k.Keep, MaxCompactKeep)
	}
}

// checkHandoffs checks the agents that an agent may hand over to; tools are the tools of its
// sub-agents.
func (c *checker) checkHandoffs(a *Agent, tools map[string]bool) {
	for i, id := range a.Handoffs {
		switch {
		case id == a.ID:
			c.agentErrorf(a, "handoff-self", "cannot hand over to itself")
		case c.agents[id] == nil:
			c.agentErrorf(a, "unknown-agent", "the hand-off target %q is not defined", id).Hint = c.similar(id,
				c.agentIDs)
		case slices.Contains(a.Handoffs[:i], id):
			c.agentErrorf(a, "handoff-twice", "hands over to %q twice", id)
		}
	}
	if len(a.Handoffs) > 0 && tools[HandoffTool] {
		c.agentErrorf(a, "subagent-tool", "a sub-agent has the tool name %q, which is the name of the hand-off tool",
			HandoffTool)
	}
}

func (c *checker) checkParams(a *Agent) {
	p := &a.Params
	c.agentNegative(a, p.MaxTokens != nil && *p.MaxTokens < 0, "params.maxTokens")
	c.agentNegative(a, p.ThinkingBudget != nil && *p.ThinkingBudget < -1, "params.thinkingBudget")
	for _, f := range []*float64{p.Temperature, p.TopP, p.FrequencyPenalty, p.PresencePenalty} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			c.agentErrorf(a, "bad-json", "a model parameter is not a finite number")
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.Provider)) {
		if !json.Valid(p.Provider[key]) {
			c.agentErrorf(a, "bad-json", "params.provider.%s is not valid JSON", key)
		}
	}
}

func (c *checker) checkRetries(a *Agent) {
	if n := a.FallbackRetries; n < -1 || n > MaxModelRetries {
		c.agentErrorf(a, "bad-value", "fallbackRetries is %d; it must be between -1 and %d", n, MaxModelRetries)
	}
}
