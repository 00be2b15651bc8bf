package hookdata_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/api/hooks/hookdata/hookdatatest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	hookdatatest.Run(t, func(*testing.T) (hookdata.Store, func() hookdata.Store) {
		m := &hookdata.Memory{}
		return m, func() hookdata.Store { return m }
	})
}
