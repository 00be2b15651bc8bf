package run_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
)

// P17: a run whose definition is missing or invalid is damaged; it is neither absent nor empty.
func TestReadDamagedDefinition(t *testing.T) {
	t.Parallel()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	data, _, err := journal.Encode([]event.Event{{Seq: 1, At: time.Unix(1, 0), Data: &event.RunStarted{}}})
	if err != nil {
		t.Fatal(err)
	}
	for run, definition := range map[string]journal.Blob{"gone": {}, "other": journal.NewBlob([]byte(`{"x":`))} {
		a := journal.Append{
			Run: run, Create: &journal.NewRun{Definition: definition.Hash},
			Record: journal.Record{First: 1, Last: 1, Data: data},
			Status: journal.StatusPaused, Release: true,
		}
		if definition.Data != nil {
			a.Blobs = []journal.Blob{definition}
		}
		if err := s.Home().Journal.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		var corrupt *journal.CorruptError
		if _, err := s.Read(t.Context(), run); !errors.As(err, &corrupt) || corrupt.Run != run ||
			failure.CodeOf(err) != failure.CodeUnusable {
			t.Errorf("%s: read: %v (%s); want damage", run, err, failure.CodeOf(err))
		}
		if err := s.Resume(t.Context(), run); !errors.As(err, &corrupt) || failure.CodeOf(err) != failure.CodeUnusable {
			t.Errorf("%s: resume: %v (%s); want damage", run, err, failure.CodeOf(err))
		}
	}
	if _, err := s.Read(t.Context(), "none"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}
