package definition

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// hookCatalog is a catalog that calls a hook right before an agent is deleted, once.
type hookCatalog struct {
	catalog.Store

	happens func()
}

func (b *hookCatalog) DeleteAgent(ctx context.Context, id, expect string, may func([]catalog.Entry) bool) error {
	if f := b.happens; f != nil {
		b.happens = nil
		f()
	}
	return b.Store.DeleteAgent(ctx, id, expect, may)
}

// TestDeleteAgent_ConcurrentStore checks that deleting an agent while another process stores a
// workflow that needs it returns an error that names the workflow: there is no gap between the
// search for users and the deletion.
func TestDeleteAgent_ConcurrentStore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, taken string
		isRefused   bool
	}{{"by a workflow that needs it", "desk", true}, {"by a workflow that needs another one", "other", false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := New(Config{Documents: linked.Kit(), Operator: &config.Config{}, Env: func(string) string {
				return ""
			}}, &catalog.Memory{})
			if _, problems, err := s.ApplyAgents(ctx,
				ApplyAgentsRequest{Documents: []Document{
					{"agents.json", []byte(`{"agents": [{"id": "desk"}, {"id": "other"}]}`)},
				}}); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			s.stored = &hookCatalog{s.stored, func() {
				text := `{"id": "w", "nodes": [{"id": "a", "type": "agent", "config": {"agentId": "` + c.taken +
					`"}}], "edges": [], "maxRounds": 1}`
				if _, problems, err := s.Apply(ctx, ApplyRequest{
					Documents: []Document{{"w.json", []byte(text)}},
				}); err != nil || problems.HasErrors() {
					t.Error(problems, err)
				}
			}}
			err := s.DeleteAgent(ctx, "desk", false)
			used, isRefused := errors.AsType[*failure.InUseError](err)
			if isRefused != c.isRefused || isRefused && !slices.Equal(used.Workflows, []string{"w"}) || !isRefused &&
				err != nil {
				t.Errorf("got %v", err)
			}
			if rows, err := s.Agents(ctx); err != nil || (len(rows) == 2) != c.isRefused {
				t.Errorf("agents %v, %v", rows, err)
			}
		})
	}
}
