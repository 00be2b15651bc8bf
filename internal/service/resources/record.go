package resources

import (
	"context"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/cassette"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// recorder writes model calls to one reply script, although the client behind it is recreated each
// time the run is loaded into memory. It is safe for concurrent use.
type recorder struct {
	*cassette.Recorder
	behind *switchable
}

func newRecorder(path string) (*recorder, error) {
	behind := &switchable{}
	r, err := cassette.New(behind, path)
	if err != nil {
		return nil, failure.Refuse(errcode.RecordingUnusable, nil, err)
	}
	return &recorder{r, behind}, nil
}

// Record starts recording the model calls of this process in a new reply script. It returns an
// *InvalidError if it cannot.
func (op *Opener) Record(path string) (err error) {
	op.recorder, err = newRecorder(path)
	return err
}

// ContinueRecording continues the reply script at path, which holds some of the known replies.
func (op *Opener) ContinueRecording(path string, known []chat.Message) error {
	behind := &switchable{}
	r, err := cassette.Continue(behind, path, known)
	if err != nil {
		return err
	}
	op.recorder = &recorder{r, behind}
	return nil
}

// IsRecording reports whether the model calls of this process are recorded.
func (op *Opener) IsRecording() bool { return op.recorder != nil }

// Close ends the recording, if there is one.
func (op *Opener) Close() error {
	if op.recorder == nil {
		return nil
	}
	return op.recorder.Close()
}

// wrap returns the recorder as a client in front of c.
func (r *recorder) wrap(c model.Client) model.Client {
	r.behind.mu.Lock()
	defer r.behind.mu.Unlock()
	r.behind.client = c
	return r.Recorder
}

// switchable is a client whose target can be replaced.
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
