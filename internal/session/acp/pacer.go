package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"time"
)

// pacer is the agent's output as the SDK is given it. The SDK queues updates and gives up the connection when 1,024 of them wait, however fast they are taken,
// if the agent is faster for a moment; so no more are let through than are taken. Read is for one goroutine.
type pacer struct {
	ready <-chan struct{} // nothing is read before it is closed: the SDK's reader starts while its logger is not set yet
	r     *bufio.Reader
	rest  []byte
	// update tells whether the line that is read is one.
	update bool

	mu            sync.Mutex
	passed, taken int
	moved         chan struct{}
}

const (
	maxUntaken = 256
	// stalled is how long the SDK may take nothing before it is believed to be done: what it cannot read as an update is never taken.
	stalled = 500 * time.Millisecond
)

func newPacer(r io.Reader, ready <-chan struct{}) *pacer {
	return &pacer{ready: ready, r: bufio.NewReaderSize(r, 64<<10), moved: make(chan struct{}, 1)}
}

// take notes that an update was taken.
func (p *pacer) take() {
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

// Read implements io.Reader. It gives no more than one line.
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
