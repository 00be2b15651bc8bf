package run_test

import (
	"testing"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// inMemory opens a service that stores nothing permanently.
func inMemory(t *testing.T) *service.Service {
	t.Helper()
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
	return s
}

func apply(t *testing.T, s *service.Service, q service.ApplyRequest) (service.Applied, diag.List) {
	t.Helper()
	done, problems, err := s.Apply(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return done, problems
}

func applyText(t *testing.T, s *service.Service, file, text string, draft bool) (service.Applied, diag.List) {
	t.Helper()
	return apply(t, s, service.ApplyRequest{Documents: []service.Document{{File: file, Data: []byte(text)}},
		Draft: draft})
}

// withLimits continues a run with larger limits, which answer its question for a larger budget if
// it has one.
func withLimits(t *testing.T, s *service.Service, run string, larger workflow.Limits) {
	t.Helper()
	rec, err := s.ReadShort(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Proceed(t.Context(), rec,
		service.Proceed{Limits: &larger, By: event.LocalBy(event.ChannelProgram)}); err != nil {
		t.Fatal(err)
	}
}
