package tool

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/tool/kinds"
)

// Offers returns the sorted names of the tools that a toolset may have, ignoring its filter
// (Spec.Tools). It returns false if only the server or the catalog knows them.
func Offers(s Spec) ([]string, bool) {
	if k, ok := kinds.Of(s.Type); ok && k.Tools != nil {
		return slices.Clone(k.Tools), true
	}
	var o struct {
		Shell  map[string]json.RawMessage `json:"shell"`
		Config struct {
			Name string `json:"name"`
		} `json:"api_config"`
		Tool     string `json:"tool"`
		Workflow string `json:"workflow"`
	}
	if len(s.Options) > 0 && json.Unmarshal(s.Options, &o) != nil {
		return nil, false
	}
	switch {
	case s.Type == TypeScript:
		return slices.Sorted(maps.Keys(o.Shell)), true
	case s.Type == TypeAPI && o.Config.Name != "":
		return []string{o.Config.Name}, true
	case s.Type == TypeWorkflow && o.Tool != "":
		return []string{o.Tool}, true
	case s.Type == TypeWorkflow && o.Workflow != "":
		return []string{o.Workflow}, true
	}
	return nil, false
}
