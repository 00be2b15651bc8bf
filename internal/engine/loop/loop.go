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

// World is what the loop needs to know about the run it belongs to.
type World interface {
	// Step returns where the loop's state of a step is stored.
	Step(step int) *Step
	// Node returns what the loop must know about the node of a step.
	Node(step int) Node
	// Agent returns an agent of the workflow that a step belongs to; nil if there is none.
	Agent(step int, id string) *workflow.Agent
	// Flow returns the number of the workflow that a step belongs to, across all its executions in
	// the run.
	Flow(step int) int
	// Text returns the input of a step: the first message of its conversation.
	Text(step int) text.Text
	// Keep returns the text in the form in which the run keeps it: large texts may leave memory.
	Keep(t text.Text) text.Text
	// Settle ends what is reserved for a call: for its last attempt or, if gone is set, for the
	// whole call, whose timer ends too.
	Settle(key string, c *Call, gone bool)
}

// Node is what the loop must know about a node.
type Node struct {
	Kind  workflow.Kind
	Agent string // the agent of an agent node
	// Shared reports whether the agent takes part in the conversation of the run.
	Shared bool
}

// Shared is the id of the conversation of all agents of a run (S3-23).
const Shared = "run"

// Loop is the state of a run's calls and agent loops. The zero Loop has made no calls. It is not
// safe for concurrent use.
type Loop struct {
	convs map[string][]chat.Message
	calls calls
	// cooling is the set of agents that stay with a fallback.
	cooling map[string]cooldown

	out, late, due, busy int32      // see the methods with these names
	cancelled            *time.Time // nil means never

	spare []*Call // calls that have ended, for reuse
	block []Call  // free entries of the last block
	size  int     // of the last block
}

// Step is the loop's state of one step. The zero Step has made no calls.
type Step struct {
	Agent *Agent // nil if it runs none
	// Notes are the results of sub-steps of a function, oldest first. They are dropped when the
	// step ends.
	Notes []Note
	// Numbered is the number of calls that were started, Tries the number of attempts of the call
	// of a tool or function node.
	Numbered, Tries int
	// Calls is the number of calls without a final result, Out the number of those that are in
	// flight.
	Calls, Out int32
	// Due reports that the step starts again as soon as there is a slot.
	Due bool
}

// Out returns the number of calls in flight.
func (l *Loop) Out() int { return int(l.out) }

// Late returns the number of cancelled calls that have not settled.
func (l *Loop) Late() int { return int(l.late) }

// Due returns the number of calls and steps to be retried as soon as there is a slot.
func (l *Loop) Due() int { return int(l.due) }

// Busy returns the number of steps with a call in flight.
func (l *Loop) Busy() int { return int(l.busy) }

// CancelledAt returns when a call in flight was last cancelled, or the run was while calls in
// flight could still finish; zero means never.
func (l *Loop) CancelledAt() time.Time {
	if l.cancelled == nil {
		return time.Time{}
	}
	return *l.cancelled
}

// Call returns a call without a final result, or nil if there is none.
func (l *Loop) Call(key string) *Call { return l.calls.get(key) }

// All returns the calls without a final result, in any order.
func (l *Loop) All() iter.Seq2[string, *Call] { return l.calls.all() }

// Keys returns the keys of the calls that match, in the order in which they were requested.
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

// Any reports whether any call matches.
func (l *Loop) Any(match func(*Call) bool) bool {
	for _, c := range l.calls.all() {
		if match(c) {
			return true
		}
	}
	return false
}

// Conv returns the messages of a conversation, which are shared and never modified.
func (l *Loop) Conv(id string) []chat.Message { return l.convs[id] }

// Reply returns the last reply in a conversation, or the zero message if there is none.
func (l *Loop) Reply(conv string) chat.Message {
	for _, m := range slices.Backward(l.convs[conv]) {
		if m.Role == chat.RoleAssistant {
			return m
		}
	}
	return chat.Message{}
}

// EndsWithReply reports whether the last message of a conversation is a reply.
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

// ConvID returns the id of a frame's conversation, which is the prefix of the ids of its calls.
func ConvID(step, frame int) string { return strconv.Itoa(step) + "." + strconv.Itoa(frame) }
