package driver

import (
	"sync"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

// maxMemos bounds the conversations of a run whose written form is kept at once. What is kept of one are references to its texts and the JSON around them.
const maxMemos = 256

// memos are what adapters keep of the conversations of a run. A conversation has one only from a reply with tool calls to the call after it, so that what ended is not kept. The zero memos
// are empty. Safe for concurrent use.
type memos struct {
	mu   sync.Mutex
	n    int
	kept map[string]numberedMemo
}

// numberedMemo is a memo with the number of its keeping.
type numberedMemo struct {
	memo *model.Memo
	n    int
}

// memoKey names the conversation of a call as its agent sees it.
func memoKey(c *engine.CallModel) string {
	if c.Agent == nil {
		return c.Conversation
	}
	return c.Conversation + "\x00" + c.Agent.ID
}

// take gives the memo of a conversation, an empty one where none was kept. It is kept no longer.
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

// keep keeps the memo of a conversation that goes on. Where there are too many, the one that was kept first is dropped.
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
