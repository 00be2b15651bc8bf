package steps

import "slices"

// Keys gives the keys of a section of steps documents that have an effect, and those of docker-agent's that are only reported by name. Sections are
// "document", "models" (an entry), "providers" (an entry), "agent step", "condition step" and "parallel step"; "block ports" are ids
// that no child of a parallel step has. What agents have is in package agents.
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
	case "agent step":
		works = stepKeys[agentStep]
	case "condition step":
		works = stepKeys[conditionStep]
	case "parallel step":
		works = stepKeys[parallelStep]
	}
	return slices.Clone(works), slices.Clone(reported)
}
