package model

import "maps"

// withDefaults returns p with its unset fields taken from other.
func (p Params) withDefaults(other Params) Params {
	out := p
	out.Temperature = first(p.Temperature, other.Temperature)
	out.TopP = first(p.TopP, other.TopP)
	out.FrequencyPenalty = first(p.FrequencyPenalty, other.FrequencyPenalty)
	out.PresencePenalty = first(p.PresencePenalty, other.PresencePenalty)
	out.MaxTokens = first(p.MaxTokens, other.MaxTokens)
	out.ThinkingBudget = first(p.ThinkingBudget, other.ThinkingBudget)
	if p.ReasoningEffort == "" {
		out.ReasoningEffort = other.ReasoningEffort
	}
	if p.Stop == nil {
		out.Stop = other.Stop
	}
	if len(other.ProviderOptions) > 0 {
		out.ProviderOptions = maps.Clone(other.ProviderOptions)
		maps.Copy(out.ProviderOptions, p.ProviderOptions)
	}
	return out
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
