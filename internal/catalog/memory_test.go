package catalog_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	catalogtest.Run(t, nil, func(*testing.T) catalog.Store { return &catalog.Memory{} })
}
