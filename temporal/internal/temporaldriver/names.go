package temporaldriver

import "strings"

// Names in Temporal. They are part of histories and must never change.
const (
	workflowName = "hocket.run"
	signalName   = "look"

	activityLook   = "look"
	activityDue    = "due"
	activityCall   = "call"
	activitySettle = "settle"
)

// protocol is the version of the protocol between the workflow and its activities.
const protocol = 1

// Input is the input with which a workflow is started. It is part of histories.
type Input struct {
	Run      string `json:"run"`
	Protocol int    `json:"version"`
}

// workflowID returns the ID of a run's workflow: the run's ID, prefixed with the Hocket namespace
// unless that is the default one.
func workflowID(namespace, run string) string {
	if namespace == "default" {
		return run
	}
	return namespace + "/" + run
}

// baseQueue returns the queue of the workflows of a namespace of a store: those of documents, or
// those of a program's Go graphs, whose calls use it too. Workers of another store take nothing from
// it, as they would find none of its runs.
func baseQueue(store, namespace, program string) string {
	base := "hocket." + store + "." + namespace
	if program == "" {
		return base
	}
	return base + "." + string(QueueFunc) + "." + program
}

// isProgramQueue reports whether a base queue belongs to a program.
func isProgramQueue(base string) bool { return strings.Contains(base, "."+string(QueueFunc)+".") }

// Kinds of open calls and timers of a run, as used in reports.
const (
	kindModel = "m"
	kindTool  = "t"
	kindFunc  = "f"
	kindTimer = "c"
)

// queueOf returns the queue for a kind of calls.
func queueOf(kind string) Queue {
	switch kind {
	case kindModel:
		return QueueModel
	case kindTool:
		return QueueTool
	}
	return QueueFunc
}
