package checkpoint_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/checkpoint/checkpointtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(*testing.T) checkpointtest.Store { return &checkpoint.Memory{} })
}
