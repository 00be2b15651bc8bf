package main

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// TestRun runs the example on a server.
func TestRun(t *testing.T) {
	t.Parallel()
	address, namespace := temporalserver.Namespace(t)
	var out strings.Builder
	err := run(t.Context(), []string{"-db", pgtest.URL(t), "-temporal", address, "-namespace", namespace,
		"the town library opens on Sundays"}, &out)
	if want := "completed GOOD NEWS: THE TOWN LIBRARY OPENS ON SUNDAYS.\n"; err != nil || out.String() != want {
		t.Errorf("got %q, %v; want %q", out.String(), err, want)
	}
}
