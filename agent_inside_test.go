package hocket

import "github.com/hocket-run/hocket/workflow"

// AgentDefinition is the agent as workflows have it.
func AgentDefinition(a Agent) (workflow.Agent, error) { return a.definition() }
