package expr

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Memo is an Env that reads each value of another Env once, for texts of many expressions: without
// it, each of them would parse a value that it shares with others. It also limits what the
// expressions cost together. Use it for one evaluation, in one goroutine.
type Memo struct {
	Env
	wholes map[string]json.RawMessage
	found  map[string]json.RawMessage
	// parts are the results of partsOf, by the first byte of the value.
	parts map[*byte]any
	// derived are what a Compiler makes of values, by the text of a reference.
	derived map[string]any
	cost    uint64
}

// NewMemo returns a Memo of env.
func NewMemo(env Env) *Memo {
	return &Memo{Env: env, wholes: map[string]json.RawMessage{}, found: map[string]json.RawMessage{},
		parts: map[*byte]any{}, derived: map[string]any{}}
}

// resolve is Ref.Resolve; a value that is not there is not remembered.
func (m *Memo) resolve(r Ref) (json.RawMessage, bool) {
	if v, ok := m.found[r.Text]; ok && r.Text != "" {
		return v, true
	}
	key := r.wholeKey()
	v, ok := m.wholes[key]
	if !ok {
		if v, ok = r.whole(m.Env); !ok {
			return nil, false
		}
		m.wholes[key] = v
	}
	if v, ok = lookupPath(v, r.Path, m.partsOf); ok {
		m.found[r.Text] = v
	}
	return v, ok
}

// wholeKey identifies the value in which the path of r starts.
func (r Ref) wholeKey() string {
	var b strings.Builder
	b.WriteString(r.Var)
	for _, hop := range r.Steps {
		b.WriteString("\x00" + hop.ID + "\x00" + strconv.Itoa(hop.Index))
	}
	b.WriteString("\x00" + strconv.Itoa(int(r.Field)))
	return b.String()
}

func (m *Memo) partsOf(v json.RawMessage, root bool) any {
	if parts, ok := m.parts[&v[0]]; ok {
		return parts
	}
	parts := partsOf(v, root)
	if parts != nil {
		m.parts[&v[0]] = parts
	}
	return parts
}

// Derive returns what derive returned for the reference r before, or calls it.
func (m *Memo) Derive(r Ref, derive func() any) any {
	v, ok := m.derived[r.Text]
	if !ok {
		v = derive()
		m.derived[r.Text] = v
	}
	return v
}

// Spend adds the cost of an evaluated expression. It reports whether all of them are within
// MaxValueCost.
func (m *Memo) Spend(cost uint64) bool {
	m.cost += cost
	return m.cost <= MaxValueCost
}
