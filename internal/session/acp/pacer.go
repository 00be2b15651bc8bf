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
// consumed. pacer therefore passes on updates only as earlier ones are consumed.
//
// The SDK also reports the end of the output before it has handled the updates in its queue. So
// pacer adds a notification of its own to the output, and returns the end when the SDK has handled
// that one.
//
// Read must be called by one goroutine only.
type pacer struct {
	// nothing is read before ready is closed, because the SDK's reader starts before its logger is
	// set
	ready <-chan struct{}
	r     *bufio.Reader
	rest  []byte
	// update reports whether the line being read is an update.
	update bool
	// end is why the output ended, or nil; handled is closed once the SDK has handled endNotification.
	end     error
	handled chan struct{}
	handle  sync.Once

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
	return &pacer{ready: ready, r: bufio.NewReaderSize(r, 64<<10), moved: make(chan struct{}, 1),
		handled: make(chan struct{})}
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

// markHandled records that the SDK handled endNotification.
func (p *pacer) markHandled() { p.handle.Do(func() { close(p.handled) }) }

const (
	updateWord = `"session/update"`
	// endMethod is an extension of the protocol, so the SDK passes it on as it is.
	endMethod = "_hocket/end"
	// endNotification begins with a line end because the last line may have none.
	endNotification = "\n" + `{"jsonrpc":"2.0","method":"` + endMethod + `"}` + "\n"
)

// Read implements io.Reader. It returns at most one line, and after the last one endNotification.
func (p *pacer) Read(b []byte) (int, error) {
	<-p.ready
	if len(p.rest) == 0 {
		if p.end != nil {
			<-p.handled
			return 0, p.end
		}
		p.wait()
		line, err := p.r.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			p.end, line = err, []byte(endNotification)
		}
		p.update = p.update || bytes.Contains(line, []byte(updateWord))
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
