package agents

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// fallback reads a list of models, or a map of models, retries and cooldown.
func (v view) fallback(a *workflow.Agent) {
	key := v.key("fallback", "fallbacks")
	n := v.f.Get(key)
	if n.IsNull() || n.Kind == source.List {
		a.Fallbacks = v.f.Strs(key)
		return
	}
	f := v.f.Map(key)
	a.Fallbacks = f.Strs("models")
	Retries(f.Get("retries"), v.diags, a)
	Cooldown(f.Get("cooldown"), v.diags, a)
	f.Unknown(diag.Warning)
}

// Retries reads the value of `retries` of a fallback into a: how often each model is called again.
// As in docker-agent, -1 means never, and 0 the default.
func Retries(n *source.Node, diags *diag.List, a *workflow.Agent) {
	if n.IsNull() {
		return
	}
	if i, ok := n.Int(); ok && i >= -1 && i <= workflow.MaxModelRetries {
		a.FallbackRetries = int(i)
		return
	}
	diags.Errorf(n.Span, n.Path(), source.CodeWrongType, "retries must be a whole number from -1 to %d",
		workflow.MaxModelRetries).Hint = "-1 is never, 0 the default"
}

// Cooldown reads the value of `cooldown` of a fallback into a: how long the agent stays with a
// fallback that answered. As in docker-agent, 0 means the default.
func Cooldown(n *source.Node, diags *diag.List, a *workflow.Agent) {
	if n.IsNull() || n.IsScalar() && (n.Text == "0" || n.Text == "0s") {
		return
	}
	if n.IsScalar() {
		if d, err := workflow.ParseDuration(n.Text); err == nil {
			a.FallbackCooldown = d
			return
		}
	}
	diags.Errorf(n.Span, n.Path(), source.CodeWrongType,
		"cooldown must be a time").Hint = "write a time such as 30s, 5m or 1h30m"
}
