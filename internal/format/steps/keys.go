package steps

import (
	"slices"
	"strings"
)

// Keys returns the keys of a section of steps documents that have an effect, and the docker-agent
// keys that are only reported by name. Sections are "document", "models" (an entry), "providers"
// (an entry), "agent step" and so on for each type; "block ports" are ids that no child of a
// parallel step may have. The keys of agents are in package agents.
func Keys(section string) (works, reported []string) {
	switch section {
	case "document":
		works, reported = topKeys, idleTopKeys
	case "models":
		works, reported = modelKeys, idleModelKeys
	case "providers":
		works = providerKeys
	case "block ports":
		works = blockPorts
	}
	if word, ok := strings.CutSuffix(section, " step"); ok {
		if i := slices.Index(stepTypes(), word); i >= 0 {
			works = stepKeys[kind(i)]
		}
	}
	return slices.Clone(works), slices.Clone(reported)
}
