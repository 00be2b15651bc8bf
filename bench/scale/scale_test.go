package main

import (
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// TestScale checks that each kind of run completes, and that both forms of the program print their
// tables.
func TestScale(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	var out, problems strings.Builder
	if err := measureCosts(t.Context(), s, "", 2, &out, &problems); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		if n := strings.Count(out.String(), "| "+k.what+" |"); n != 3 {
			t.Errorf("%s has %d rows: %s", k.what, n, out.String())
		}
	}
	if err := measureCosts(t.Context(), s, "none", 1, &out, &problems); err == nil {
		t.Error("an unknown kind is measured")
	}
	if err := s.drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := measureRetention(t.Context(), s, 40, &out); err != nil ||
		!strings.Contains(out.String(), "20 of 40 runs") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestFill checks that copies of a run are read, verified and listed like other runs.
func TestFill(t *testing.T) {
	t.Parallel()
	s, err := open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	w, err := openWorld(t.Context(), kinds[0], service.Config{Documents: linked.Kit(), DB: s.url,
		Stores: store.Servers{Postgres: pghome.New(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const runs = 30
	if err := fillRuns(t.Context(), s, w, runs, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	page, next, err := w.Home().Journal.List(t.Context(), journal.Query{Limit: 2 * runs})
	if err != nil || next != "" || len(page) != runs+1 {
		t.Fatalf("%d runs are listed, %q, %v", len(page), next, err)
	}
	for _, h := range page {
		v, err := w.Show(t.Context(), h.Run)
		if err != nil || v.Status != event.StatusCompleted || len(v.Output) < replyBytes {
			t.Errorf("%s: %+v %v", h.Run, v, err)
		}
	}
}
