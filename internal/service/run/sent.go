package run

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/model"
)

// ErrNoCall is returned when a run has no such model call or attempt.
var ErrNoCall = stored.ErrNoCall

// Sent is an attempt of a model call with its request.
type Sent struct {
	stored.Called
	// Request is the request to the model, before an adapter converted it to the form of its
	// provider. It includes tools of toolsets once a call of the agent has ended.
	Request model.Request
}

// SentCall returns the request of attempt n of a model call, 0 meaning the last one, using only the
// journal: nothing is opened or called. Tools of toolsets that the operator has removed since are
// missing in it. Errors: those of Read; stored.ErrNoCall.
func (s *Runner) SentCall(ctx context.Context, run, call string, n int) (Sent, error) {
	defer s.Hold(run)()
	head, w, err := s.RunDefinition(ctx, run)
	if err != nil {
		return Sent{}, err
	}
	c, err := s.runs.ModelCall(ctx, run, call, n)
	if err != nil {
		return Sent{}, err
	}
	info := driver.Info{
		Run: run, Workflow: w, Model: driver.ModelOf(head), Meta: driver.UserMeta(head.Meta),
		File: func(ctx context.Context, name string) ([]byte, error) { return s.runs.File(ctx, run, name) },
	}
	kit, err := s.opener.Recorded(ctx, info, c.Pins)
	if err != nil {
		return Sent{}, err
	}
	defer func() { _ = kit.Close() }() // nothing was opened
	req, err := kit.Request(ctx, &info, c.Command)
	if err != nil {
		return Sent{}, err
	}
	if info.Model == "" && c.Command.Model == "" && c.Answered != "" {
		req.Model = c.Answered // the default may have changed since
	}
	return Sent{c, req}, nil
}
