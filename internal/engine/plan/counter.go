package plan

import (
	"encoding/json"
	"strconv"
)

// Counter describes a node function that only counts, in a field of the typed state that the
// program's own form of the state does not contain.
type Counter struct {
	Field string
	// Reset sets the field to 0, instead of adding 1 to it.
	Reset bool
}

// FindCounters marks the nodes of a flow and its sub-flows whose functions only count, as counter
// reports by function name.
func (f *Flow) FindCounters(counter func(string) (Counter, bool)) {
	for i := range f.Nodes {
		if n := &f.Nodes[i]; n.Func != nil {
			if c, ok := counter(n.Func.Func); ok {
				n.Counter = &c
			}
		}
	}
	for _, sub := range f.Flows {
		sub.FindCounters(counter)
	}
}

// Next returns the value of the counter after v. A value that is not a number counts as 0.
func (c *Counter) Next(v json.RawMessage) json.RawMessage {
	n, err := strconv.Atoi(string(v))
	if err != nil {
		n = 0
	}
	if n++; c.Reset {
		n = 0
	}
	return strconv.AppendInt(nil, int64(n), 10)
}
