package tool_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/tool"
)

// stuck is a toolset that lists its tools only when it is closed, and then fails.
type stuck struct {
	tool.Toolset
	closed chan struct{}
}

func (s *stuck) Tools(context.Context) ([]tool.Tool, error) {
	<-s.closed
	return nil, tool.ErrClosed
}

func (s *stuck) Close() error {
	close(s.closed)
	return nil
}

// TestCloseWhileOpening checks that callers that wait while a toolset is being opened, and the one
// that opens it, get the error of a closed set instead of an agent without tools.
func TestCloseWhileOpening(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ts := &stuck{closed: make(chan struct{})}
		s, err := tool.NewSet(tool.Config{
			Extra:  []tool.Spec{{Type: "stuck"}},
			Agents: map[string]tool.Grant{"a": {Names: []string{tool.All}}, "b": {Names: []string{tool.All}}},
			Types:  map[string]tool.Type{"stuck": {Open: func(tool.Spec) (tool.Toolset, error) { return ts, nil }}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, agent := range []string{"a", "b"} {
			wg.Go(func() { _, errs[i] = s.Defs(t.Context(), agent) })
			synctest.Wait()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for i, err := range errs {
			if !errors.Is(err, tool.ErrClosed) {
				t.Errorf("caller %d: got %v; want ErrClosed", i, err)
			}
		}
	})
}
