package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// pacer passes the agent's output to the SDK. The SDK queues updates and drops the connection when
// 1,024 are queued, so a short burst from the agent is enough, however fast the updates are
// consumed. pacer therefore passes on updates only as earlier ones are consumed. Read must be
// called by one goroutine only.
type pacer struct {
	// nothing is read before ready is closed, because the SDK's reader starts before its logger is
	// set
	ready <-chan struct{}
	r     *bufio.Reader
	rest  []byte
	// update reports whether the line being read is an update.
	update bool

	mu            sync.Mutex
	passed, taken int
	moved         chan struct{}
}

const (
	maxUntaken = 256
	// stalled is how long the SDK may consume nothing before it is considered caught up, because a
	// line that it cannot decode as an update is never counted as consumed.
	stalled = 500 * time.Millisecond
)

func newPacer(r io.Reader, ready <-chan struct{}) *pacer {
	return &pacer{ready: ready, r: bufio.NewReaderSize(r, 64<<10), moved: make(chan struct{}, 1)}
}

// countConsumed records that the SDK consumed an update.
func (p *pacer) countConsumed() {
	p.mu.Lock()
	p.taken = min(p.taken+1, p.passed)
	p.mu.Unlock()
	select {
	case p.moved <- struct{}{}:
	default:
	}
}

func (p *pacer) untaken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.passed - p.taken
}

var updateWord = []byte(`"session/update"`)

// Read implements io.Reader. It returns at most one line.
func (p *pacer) Read(b []byte) (int, error) {
	<-p.ready
	if len(p.rest) == 0 {
		p.wait()
		line, err := p.r.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			return 0, err
		}
		p.update = p.update || bytes.Contains(line, updateWord)
		if !errors.Is(err, bufio.ErrBufferFull) && p.update {
			p.update = false
			p.mu.Lock()
			p.passed++
			p.mu.Unlock()
		}
		p.rest = line
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

func (p *pacer) wait() {
	if p.untaken() < maxUntaken {
		return
	}
	t := time.NewTimer(stalled)
	defer t.Stop()
	for p.untaken() > maxUntaken/2 {
		select {
		case <-p.moved:
			t.Reset(stalled)
		case <-t.C:
			p.mu.Lock()
			p.taken = p.passed
			p.mu.Unlock()
		}
	}
}
