package temporaldriver

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/driver/embedded"
)

// TestLog_RepeatedErrors checks that an error that stays the same is logged once, however often it
// occurs, and again when it recurs.
func TestLog_RepeatedErrors(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	cfg := Config{Config: embedded.Config{}}
	cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	d, said := &Driver{cfg: cfg}, repeats{}
	for _, err := range []error{errors.New("a"), errors.New("a"), errors.New("b"), nil, nil, errors.New("b")} {
		said.log(t.Context(), d, "cannot look", err)
		said.log(t.Context(), d, "cannot read", nil)
	}
	if n := strings.Count(out.String(), "cannot look"); n != 3 || strings.Contains(out.String(), "cannot read") {
		t.Errorf("logged %d times:\n%s", n, out.String())
	}
}
