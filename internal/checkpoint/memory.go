package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Memory stores checkpoints in memory. The zero Memory is empty and ready to use. It is safe for
// concurrent use.
type Memory struct {
	mu   sync.Mutex
	runs map[string][]saved
}

type saved struct {
	label string
	state []byte
}

// Save implements hocket.Checkpointer.
func (m *Memory) Save(ctx context.Context, execution string, state json.RawMessage, label string) error {
	err := Check(execution, label, state)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.runs[execution]
	if label == "" {
		label = Name(labels(list))
	}
	list = slices.DeleteFunc(list, func(s saved) bool { return s.label == label })
	if m.runs == nil {
		m.runs = map[string][]saved{}
	}
	m.runs[execution] = append(list, saved{label, bytes.Clone(state)})
	return nil
}

// Load implements hocket.Checkpointer.
func (m *Memory) Load(ctx context.Context, execution, label string) (json.RawMessage, error) {
	err := CheckNames(execution, label)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("load checkpoint: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range slices.Backward(m.runs[execution]) {
		if label == "" || s.label == label {
			return bytes.Clone(s.state), nil
		}
	}
	return nil, fmt.Errorf("load checkpoint: %w", ErrNone)
}

// List implements hocket.Checkpointer.
func (m *Memory) List(ctx context.Context, execution string) ([]string, error) {
	err := CheckNames(execution, "")
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return labels(m.runs[execution]), nil
}

// Delete implements hocket.Checkpointer.
func (m *Memory) Delete(ctx context.Context, execution, label string) error {
	err := CheckNames(execution, label)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("delete checkpoint: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.DeleteFunc(m.runs[execution], func(s saved) bool { return label == "" || s.label == label })
	if len(list) == 0 {
		delete(m.runs, execution)
		return nil
	}
	m.runs[execution] = list
	return nil
}

func labels(list []saved) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.label
	}
	return out
}
