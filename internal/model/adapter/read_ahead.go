package adapter

import (
	"errors"
	"io"
	"sync"
)

const (
	// minAhead is the minimum size in bytes of a body that is written ahead.
	minAhead    = 256 << 10
	blockBytes  = 64 << 10
	aheadBlocks = 3
)

// blocks is a pool of reusable blocks: *[blockBytes]byte.
var blocks sync.Pool

// aheadReader reads a body on its own goroutine, some blocks ahead of its caller: strings are
// escaped while earlier ones are sent. The goroutine starts with the first Read, and ends with the
// body or with Close, which may be called while Read runs.
type aheadReader struct {
	body *reader
	once sync.Once
	stop chan struct{} // closed by Close
	full chan filled
	free chan *[blockBytes]byte

	// begun and block are used only by Read.
	begun bool
	block filled // the current block; its bytes are the unread rest
}

type filled struct {
	block *[blockBytes]byte
	bytes []byte
}

var errClosed = errors.New("read the body of a request: it is closed")

// newBody returns a reader of the concatenated bodies, size bytes in total.
func newBody(bodies []body, size int64) io.ReadCloser {
	r := &reader{rest: bodies}
	if size < minAhead {
		return r
	}
	return &aheadReader{body: r, stop: make(chan struct{}), full: make(chan filled, aheadBlocks),
		free: make(chan *[blockBytes]byte, aheadBlocks)}
}

// Read implements io.Reader.
func (a *aheadReader) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if !a.begun {
		a.begun = true
		go a.fill()
	}
	if len(a.block.bytes) == 0 {
		if a.block.block != nil {
			a.free <- a.block.block // it has room for all blocks
			a.block = filled{}
		}
		select {
		case next, ok := <-a.full:
			if !ok {
				return 0, a.end()
			}
			a.block = next
		case <-a.stop:
			return 0, errClosed
		}
	}
	n = copy(p, a.block.bytes)
	a.block.bytes = a.block.bytes[n:]
	return n, nil
}

// end returns the error of a Read after the last block.
func (a *aheadReader) end() error {
	select {
	case <-a.stop:
		return errClosed // the body may not be complete
	default:
	}
	for {
		select {
		case b := <-a.free:
			blocks.Put(b)
		default:
			return io.EOF
		}
	}
}

// Close implements io.Closer.
func (a *aheadReader) Close() error {
	a.once.Do(func() { close(a.stop) })
	return nil
}

// fill reads the body into blocks.
func (a *aheadReader) fill() {
	defer close(a.full)
	for i := 0; ; i++ {
		var b *[blockBytes]byte
		if i < aheadBlocks {
			if b, _ = blocks.Get().(*[blockBytes]byte); b == nil {
				b = new([blockBytes]byte)
			}
		} else {
			select {
			case b = <-a.free:
			case <-a.stop:
				return
			}
		}
		n, err := a.body.Read(b[:])
		if err != nil {
			blocks.Put(b)
			return
		}
		select {
		case a.full <- filled{b, b[:n]}:
		case <-a.stop:
			return
		}
	}
}
