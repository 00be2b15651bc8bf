package hocket

import "github.com/hocket-run/hocket/workflow"

// AgentDefinition returns the agent as workflows represent it.
func AgentDefinition(a Agent) (workflow.Agent, error) { return a.definition() }
