package compat

import (
	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// IsNodeType reports whether s is one of the document's seven node types.
func IsNodeType(s string) bool {
	switch graph.NodeType(s) {
	case graph.TypeAgent, graph.TypeTool, graph.TypeDecision, graph.TypeWait, graph.TypeAskUser, graph.TypeSubgraph,
		graph.TypeParallel:
		return true
	}
	return false
}

// IsSignal reports whether s is one of the four signals.
func IsSignal(s string) bool {
	switch graph.SignalType(s) {
	case graph.SignalContextWindowWarning, graph.SignalCheckpoint, graph.SignalHumanInputRequired,
		graph.SignalDebugReport:
		return true
	}
	return false
}

// IsExecutionStatus reports whether s is one of the six statuses.
func IsExecutionStatus(s string) bool {
	switch hocket.Status(s) {
	case hocket.StatusPending, hocket.StatusRunning, hocket.StatusPaused, hocket.StatusCompleted, hocket.StatusFailed,
		hocket.StatusCancelled:
		return true
	}
	return false
}

// The guards below inspect decoded JSON: what json.Unmarshal stores in an any.

// IsBaseState reports whether v is an object with executionId, lastUpdated and outputs.
func IsBaseState(v any) bool {
	m, _ := v.(map[string]any)
	_, outputs := m["outputs"].(map[string]any)
	return outputs && isText(m, "executionId") && isText(m, "lastUpdated")
}

// IsNodeResult reports whether v is an object whose stateUpdate, goto and signals have the right
// form if present.
func IsNodeResult(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if update, there := m["stateUpdate"]; there {
		if _, ok := update.(map[string]any); !ok {
			return false
		}
	}
	if to, there := m["goto"]; there {
		if _, one := to.(string); !one && !areTexts(to) {
			return false
		}
	}
	signals, there := m["signals"]
	if !there {
		return true
	}
	list, ok := signals.([]any)
	for _, s := range list {
		if m, isObject := s.(map[string]any); !isObject || !isText(m, "type") || !IsSignal(m["type"].(string)) {
			return false
		}
	}
	return ok
}

// IsDebugReport reports whether v is an object with errorSummary, relevantFiles, suggestedFixes and
// generatedAt.
func IsDebugReport(v any) bool {
	m, _ := v.(map[string]any)
	return isText(m, "errorSummary") && isText(m, "generatedAt") && areTexts(m["relevantFiles"]) &&
		areTexts(m["suggestedFixes"])
}

func isText(m map[string]any, name string) bool {
	_, ok := m[name].(string)
	return ok
}

func areTexts(v any) bool {
	list, ok := v.([]any)
	for _, x := range list {
		if _, text := x.(string); !text {
			return false
		}
	}
	return ok
}
