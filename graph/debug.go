package graph

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/program"
)

func (c *compiler[S]) debugReport(run string, f program.Failure, at time.Time) *DebugReport {
	r := &DebugReport{
		ErrorSummary: f.Message, StackTrace: f.Stack, RelevantFiles: []string{}, SuggestedFixes: []string{},
		GeneratedAt: at, NodeID: f.Node, ExecutionID: run,
	}
	id, _, _ := strings.Cut(f.Node, "/") // a path if it is inside a subgraph
	d := c.index[id]
	if d != nil && d.at.File != "" {
		r.RelevantFiles = append(r.RelevantFiles, fmt.Sprintf("%s:%d", filepath.Base(d.at.File), d.at.Start.Line))
	}
	if fix := suggestion(f); fix != "" {
		r.SuggestedFixes = append(r.SuggestedFixes, fix)
	}
	if d != nil && d.opts.OnError.fn == nil && c.handler == "" && (f.Code == "func" || f.Code == codeNode) {
		r.SuggestedFixes = append(r.SuggestedFixes,
			fmt.Sprintf("To continue after this failure, give node %q an OnError, or the graph a handler with Catch.",
				id))
	}
	return r
}

// suggestion returns what to try first, by the code of a failure; "" if there is nothing better
// than its message.
func suggestion(f program.Failure) string {
	switch f.Code {
	case codeSchema:
		return "Compare the state with the schema that the message names, and with what earlier nodes wrote."
	case codeTimeout:
		if strings.HasPrefix(f.Message, "Graph execution") {
			return "Raise Config.Timeout, or find the node that takes most of the time."
		}
		return "Raise the node's Timeout, or make its function return when the context is done."
	case "max_steps":
		return "Raise Config.MaxSteps, or check the conditions that end loops and backward gotos."
	case "state_conflict":
		return "Declare a reducer for the field in Config.Reducers, or change it in one branch only."
	case "node_not_found":
		return "Add the node with Builder.Node, or correct the ID in the goto; targets of OnError need Recovery."
	case codeRoute:
		return "Change the goto to a node of the same branch."
	case "condition":
		return "Fix the condition: it must return a result for every state that can reach it."
	case "deadline":
		return "Answer sooner, or allow more time."
	}
	if f.Stack != "" {
		return "Fix the panic: the stack trace starts where it happened."
	}
	return ""
}

// report returns the signal of a failed run.
func (c *compiler[S]) report(run string, f program.Failure, at time.Time) *program.Signal {
	raw, err := encode(c.debugReport(run, f, at))
	if err != nil {
		return nil
	}
	return &program.Signal{Name: string(SignalDebugReport), Message: f.Message, Data: raw}
}

// ExecutionError is one recorded failed attempt of a node.
type ExecutionError struct {
	NodeID    string    `json:"nodeId"`
	Message   string    `json:"error"`
	Timestamp time.Time `json:"timestamp"`
	// Attempt counts from 1.
	Attempt int `json:"attempt"`
}

// Error returns the message.
func (e ExecutionError) Error() string { return e.Message }

// DebugReport describes why a run failed.
type DebugReport struct {
	ErrorSummary string `json:"errorSummary"`
	StackTrace   string `json:"stackTrace,omitempty"`
	// RelevantFiles and SuggestedFixes are never null.
	RelevantFiles  []string  `json:"relevantFiles"`
	SuggestedFixes []string  `json:"suggestedFixes"`
	GeneratedAt    time.Time `json:"generatedAt"`
	NodeID         string    `json:"nodeId,omitempty"`
	ExecutionID    string    `json:"executionId,omitempty"`
}
