package service

import (
	"context"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
)

// Apply is [definition.Catalog.Apply], with a warning for each published schedule whose runs would
// be refused.
func (s *Service) Apply(ctx context.Context, q ApplyRequest) (Applied, diag.List, error) {
	done, problems, err := s.Catalog.Apply(ctx, q)
	if err != nil || q.Draft {
		return done, problems, err
	}
	for i, w := range done.Workflows {
		problems = append(problems, s.refusals(ctx, w.Entry.ID, q.Documents[i].File)...)
	}
	return done, problems, nil
}

// PublishIf is [definition.Catalog.PublishIf], with a warning for each schedule whose runs would be
// refused.
func (s *Service) PublishIf(ctx context.Context, id string, number int, expect string) (
	catalog.Stored, diag.List, error) {
	st, problems, err := s.Catalog.PublishIf(ctx, id, number, expect)
	if err == nil && !problems.HasErrors() {
		problems = append(problems, s.refusals(ctx, id, "")...)
	}
	return st, problems, err
}

// Publish is PublishIf for a workflow with any tag.
func (s *Service) Publish(ctx context.Context, id string, number int) (catalog.Entry, diag.List, error) {
	st, problems, err := s.PublishIf(ctx, id, number, "")
	return st.Entry, problems, err
}

// refusals returns the warnings about the schedules of a workflow that was just published.
func (s *Service) refusals(ctx context.Context, id, file string) diag.List {
	list, err := s.CheckSchedules(ctx, id, file)
	if err != nil {
		s.cfg.Logger.Warn("schedules of a published workflow not checked", "workflow", id, "err", err)
	}
	return list
}
