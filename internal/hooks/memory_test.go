package hooks_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/hooks"
	"github.com/hocket-run/hocket/internal/hooks/hookstest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	hookstest.Run(t, func(*testing.T) (hooks.Store, func() hooks.Store) {
		m := &hooks.Memory{}
		return m, func() hooks.Store { return m }
	})
}
