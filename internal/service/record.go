package service

import (
	"context"
	"sync"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/cassette"
)

// recorder writes model calls into one reply script, though the client behind it is made anew each time that the run comes back into memory. Safe for
// concurrent use.
type recorder struct {
	*cassette.Recorder
	behind *switchable
}

func newRecorder(path string) (*recorder, error) {
	behind := &switchable{}
	r, err := cassette.New(behind, path)
	if err != nil {
		return nil, &InvalidError{Message: "--record: " + err.Error(), Err: err}
	}
	return &recorder{r, behind}, nil
}

// over gives the recorder as a client in front of c.
func (r *recorder) over(c model.Client) model.Client {
	r.behind.mu.Lock()
	defer r.behind.mu.Unlock()
	r.behind.client = c
	return r.Recorder
}

// switchable is a client that can be replaced.
type switchable struct {
	mu     sync.Mutex
	client model.Client
}

// Call implements model.Client.
func (s *switchable) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	s.mu.Lock()
	c := s.client
	s.mu.Unlock()
	return c.Call(ctx, req, onDelta)
}
