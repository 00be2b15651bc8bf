package steps

import (
	"encoding/json"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/workflow"
)

// compaction writes when an agent's conversations are compacted.
func (o *writer) compaction(a *workflow.Agent, ms *modelWriter, at string, m *yaml.Node) {
	if a.Compaction == nil {
		return
	}
	c := *a.Compaction
	if c.Model != "" {
		c.Model = ms.ref(c.Model, workflow.ModelParams{}, a.ID, at)
	}
	raw, err := json.Marshal(agents.CompactionOf(&c))
	if err == nil {
		var n *yaml.Node
		if n, err = fromJSON(raw); err == nil {
			put(m, "compaction", n)
		}
	}
	if err != nil {
		o.unsaid.Addf(at, "its compaction")
	}
}
