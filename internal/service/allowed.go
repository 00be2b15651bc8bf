package service

import (
	"context"
)

// mayDrive is askAgain for a run that this process is about to drive; one that another living process drives stays with that one.
func (s *Service) mayDrive(ctx context.Context, run string) error {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Owner != "" && !head.Interrupted {
		return nil //nolint:nilerr // what is asked of the run says so
	}
	return s.opener.AskAgain(run, head.Meta)
}
