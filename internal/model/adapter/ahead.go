package adapter

import (
	"errors"
	"io"
	"sync"
)

const (
	// minAhead is the size in bytes from which on a body is written ahead.
	minAhead    = 256 << 10
	blockBytes  = 64 << 10
	aheadBlocks = 3
)

// blocks holds blocks to be used again: *[blockBytes]byte.
var blocks sync.Pool

// aheadReader reads a body on a goroutine of its own, some blocks ahead of its caller: texts are escaped while others are sent. The goroutine begins with the first Read,
// and ends with the body or with Close, which may be called while Read runs.
type aheadReader struct {
	body *reader
	once sync.Once
	stop chan struct{} // closed by Close
	full chan filled
	free chan *[blockBytes]byte

	// Of Read alone.
	begun bool
	block filled // the one that is read; its bytes are what is left of it
}

type filled struct {
	block *[blockBytes]byte
	bytes []byte
}

var errClosed = errors.New("read the body of a request: it is closed")

// newBody gives a reader of bodies one behind the other, size bytes in all.
func newBody(bodies []body, size int64) io.ReadCloser {
	r := &reader{rest: bodies}
	if size < minAhead {
		return r
	}
	return &aheadReader{body: r, stop: make(chan struct{}), full: make(chan filled, aheadBlocks), free: make(chan *[blockBytes]byte, aheadBlocks)}
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
			a.free <- a.block.block // it has room for all
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

// end gives the error of a Read behind the last block.
func (a *aheadReader) end() error {
	select {
	case <-a.stop:
		return errClosed // the body may have more
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
