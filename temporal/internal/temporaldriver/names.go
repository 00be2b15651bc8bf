package temporaldriver

import "strings"

// Names in Temporal. Histories have them: they are never changed.
const (
	workflowName = "hocket.run"
	signalName   = "look"

	activityLook   = "look"
	activityDue    = "due"
	activityCall   = "call"
	activitySettle = "settle"
)

// protocol is the number of what the workflow and its activities say to each other.
const protocol = 1

// Input is what a workflow is started with. Histories have it.
type Input struct {
	Run      string `json:"run"`
	Protocol int    `json:"version"`
}

// workflowID names the workflow of a run: the run's id, in a namespace of Hocket other than the default one with the namespace before it.
func workflowID(namespace, run string) string {
	if namespace == "default" {
		return run
	}
	return namespace + "/" + run
}

// baseQueue is the queue of the workflows of a namespace: those of documents, or those of the Go graphs of a program, whose calls are on it too.
func baseQueue(namespace, program string) string {
	if program == "" {
		return "hocket." + namespace
	}
	return "hocket." + namespace + "." + string(QueueFunc) + "." + program
}

// isProgramQueue tells whether a base queue is a program's.
func isProgramQueue(base string) bool { return strings.Contains(base, "."+string(QueueFunc)+".") }

// Kinds of what is open in a run, as reports name them.
const (
	kindModel = "m"
	kindTool  = "t"
	kindFunc  = "f"
	kindTimer = "c"
)

// queueOf is the queue of a kind of calls.
func queueOf(kind string) Queue {
	switch kind {
	case kindModel:
		return QueueModel
	case kindTool:
		return QueueTool
	}
	return QueueFunc
}
