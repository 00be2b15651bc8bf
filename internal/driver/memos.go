package driver

import (
	"sync"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

// maxMemos is the maximum number of conversations of a run whose encoded form is kept. A memo holds
// references to the strings of its conversation and the JSON around them.
const maxMemos = 256

// memos holds what adapters keep about a run's conversations. A conversation has a memo only from a
// reply with tool calls until the next call, so that nothing is kept about ended conversations. The
// zero memos is empty. It is safe for concurrent use.
type memos struct {
	mu   sync.Mutex
	n    int
	kept map[string]numberedMemo
}

// numberedMemo is a memo with its sequence number.
type numberedMemo struct {
	memo *model.Memo
	n    int
}

// memoKey identifies the conversation of a call as its agent sees it.
func memoKey(c *engine.CallModel) string {
	if c.Agent == nil {
		return c.Conversation
	}
	return c.Conversation + "\x00" + c.Agent.ID
}

// take removes and returns the memo of a conversation, or returns an empty one if none was kept.
func (m *memos) take(key string) *model.Memo {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[key]
	if !ok {
		return &model.Memo{}
	}
	delete(m.kept, key)
	return v.memo
}

// keep stores the memo of a conversation that continues. If there are too many, the oldest one is
// dropped.
func (m *memos) keep(key string, memo *model.Memo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[string]numberedMemo{}
	}
	m.n++
	m.kept[key] = numberedMemo{memo, m.n}
	if len(m.kept) <= maxMemos {
		return
	}
	oldest, least := "", m.n
	for key, v := range m.kept {
		if v.n < least {
			oldest, least = key, v.n
		}
	}
	delete(m.kept, oldest)
}
