package loop

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/workflow"
)

// World is what the loop asks of the run that it belongs to.
type World interface {
	// Step gives the place of what the loop knows of a step.
	Step(step int) *Step
	// Node gives what the loop must know of the node of a step.
	Node(step int) Node
	// Agent gives an agent of the workflow that a step belongs to; nil: there is none.
	Agent(step int, id string) *workflow.Agent
	// Flow numbers the workflow that a step belongs to, over all its executions in the run.
	Flow(step int) int
	// Text gives what a step was given: the first message of its conversation.
	Text(step int) text.Text
	// Keep gives the text as the run keeps it: large ones may leave memory.
	Keep(t text.Text) text.Text
	// Settle ends what is reserved for a call: for its last attempt, or for the whole call where gone is set.
	Settle(key string, c *Call, gone bool)
}

// Node is what the loop must know of a node.
type Node struct {
	Kind  workflow.Kind
	Agent string // the agent of an agent node
	// Shared: the agent speaks in the conversation of the run.
	Shared bool
}

// Shared is the conversation of all agents of a run (S3-23).
const Shared = "run"

// Loop is what a run knows of its calls and agent loops. The zero Loop has made no calls. Not safe for concurrent use.
type Loop struct {
	convs  map[string][]chat.Message
	calls  calls
	timers map[string]Timer
	// cooling are the agents that stay with a fallback.
	cooling map[string]cooldown

	out, late, due, busy int32      // see the methods of these names
	cancelled            *time.Time // nil: never

	spare []*Call // calls that have ended, to be used again
	block []Call  // room for further calls
	size  int     // of the last block
}

// Step is what the loop knows of one step. The zero Step has made no calls.
type Step struct {
	Agent *Agent // nil: it runs none
	// Notes are what sub-steps of a function gave, oldest first. They are gone when the step ends.
	Notes []Note
	// Numbered counts the calls that were begun, Tries the attempts of the call of a tool or function node.
	Numbered, Tries int
	// Calls counts the calls without a last result, Out those of them that are out.
	Calls, Out int32
	// Due: the step begins anew as soon as there is a slot.
	Due bool
}

// Out counts the calls that are out.
func (l *Loop) Out() int { return int(l.out) }

// Late counts the cancelled calls that have not settled.
func (l *Loop) Late() int { return int(l.late) }

// Due counts the calls and steps that are to be tried again as soon as there is a slot.
func (l *Loop) Due() int { return int(l.due) }

// Busy counts the steps with a call that is out.
func (l *Loop) Busy() int { return int(l.busy) }

// Sleeping counts the calls and steps that wait for their retry timer.
func (l *Loop) Sleeping() int { return len(l.timers) }

// CancelledAt is when a call that was out was cancelled last, or the run while calls were out that may finish; zero: never.
func (l *Loop) CancelledAt() time.Time {
	if l.cancelled == nil {
		return time.Time{}
	}
	return *l.cancelled
}

// Call gives a call without a last result; nil where there is none.
func (l *Loop) Call(key string) *Call { return l.calls.get(key) }

// All gives the calls without a last result, in any order.
func (l *Loop) All() iter.Seq2[string, *Call] { return l.calls.all() }

// Keys gives the keys of the calls that match, in the order in which they were asked for.
func (l *Loop) Keys(match func(*Call) bool) []string {
	var keys []string
	for key, c := range l.calls.all() {
		if match(c) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(l.calls.get(a).Seq, l.calls.get(b).Seq), cmp.Compare(a, b))
	})
	return keys
}

// Any tells whether any call matches.
func (l *Loop) Any(match func(*Call) bool) bool {
	for _, c := range l.calls.all() {
		if match(c) {
			return true
		}
	}
	return false
}

// Conv gives the messages of a conversation, which are shared and never changed.
func (l *Loop) Conv(id string) []chat.Message { return l.convs[id] }

// Reply gives the last reply in a conversation; the zero message where there is none.
func (l *Loop) Reply(conv string) chat.Message {
	for _, m := range slices.Backward(l.convs[conv]) {
		if m.Role == chat.RoleAssistant {
			return m
		}
	}
	return chat.Message{}
}

// EndsWithReply tells whether the last message of a conversation is a reply.
func (l *Loop) EndsWithReply(conv string) bool {
	msgs := l.convs[conv]
	return len(msgs) > 0 && msgs[len(msgs)-1].Role == chat.RoleAssistant
}

// Say appends messages to a conversation.
func (l *Loop) Say(conv string, messages ...chat.Message) {
	if l.convs == nil {
		l.convs = map[string][]chat.Message{}
	}
	l.convs[conv] = append(l.convs[conv], messages...)
}

// ConvID names the conversation of a frame, which begins the names of its calls.
func ConvID(step, frame int) string { return strconv.Itoa(step) + "." + strconv.Itoa(frame) }
