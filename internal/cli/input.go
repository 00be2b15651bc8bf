package cli

import (
	"context"
	"io"
)

// patient reads from r until ctx is done: a terminal or pipe that blocks must not keep Ctrl-C from
// working. An abandoned read ends with the process.
type patient struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader. It also returns the error of ctx.
func (p *patient) Read(into []byte) (int, error) {
	type chunk struct {
		data []byte
		err  error
	}
	got := make(chan chunk, 1)
	go func() {
		data := make([]byte, min(len(into), 64<<10))
		n, err := p.r.Read(data)
		got <- chunk{data[:n], err}
	}()
	select {
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	case c := <-got:
		return copy(into, c.data), c.err
	}
}
