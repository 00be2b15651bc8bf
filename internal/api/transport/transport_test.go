package transport_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestProblemOf checks the table of problems, and that no internal details are exposed.
func TestProblemOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{transport.ErrUnauthorized, 401, "unauthorized", "authentication required: send Authorization: Bearer TOKEN"},
		{&transport.ForbiddenError{Reason: "no"}, 403, "forbidden", "no"},
		{&transport.TooLargeError{Limit: "body of 8 MiB"}, 413, "too_large", "request too large: body of 8 MiB"},
		{access.ErrUnknownToken, 401, "unauthorized", access.ErrUnknownToken.Error()},
		{access.Principal{}.MayGrant(access.Grant{}), 403, "forbidden",
			"a token cannot have rights that its creator does not have: only admins create tokens"},
		{&access.InvalidError{Message: "bad"}, 422, "invalid", "bad"},
		{access.ErrNone, 404, "not_found", access.ErrNone.Error()},
		{access.ErrNoNamespace, 404, "not_found", access.ErrNoNamespace.Error()},
		{access.ErrFullTokens, 409, "conflict", "at most 1000 tokens per namespace; revoke some"},
		{&service.InvalidError{Err: errors.New("bad")}, 422, "invalid", "bad"},
		{fmt.Errorf("read: %w", journal.ErrNotFound), 404, "not_found", "run not found"},
		{waits.ErrAmbiguous, 409, "conflict", waits.ErrAmbiguous.Error()},
		{&service.BusyError{Session: "s", Run: "r"}, 409, "conflict", `session "s" is busy: its run r has not ended`},
		{&service.LimitError{Limit: "runs", Max: 3}, 429, "limit", "limit reached: 3 runs at most"},
		{waits.ErrClosed, 410, "gone", waits.ErrClosed.Error()},
		{fmt.Errorf("append to run r: %w", &journal.BusyError{Session: "s", Run: "q"}), 409, "conflict",
			`session "s" is busy: its run q has not ended`},
		{fmt.Errorf("append to run r: %w", journal.ErrExists), 409, "conflict", "a run with this id already exists"},
		{fmt.Errorf("%w: claim run", service.ErrUnavailable), 503, "unavailable",
			"the store is temporarily unavailable; only stored changes took effect, and the request may be retried"},
		{errors.New("dial /var/secret"), 500, "internal", ""},
	} {
		if p := transport.ProblemOf(c.err); p.Status != c.status || string(p.Code) != c.code || p.Detail != c.detail ||
			p.Title == "" {
			t.Errorf("%v: got %+v", c.err, p)
		}
	}
}

// TestRequire checks that callers who are unknown or lack the permission are rejected (SEC1, SEC2).
func TestRequire(t *testing.T) {
	t.Parallel()
	if _, err := transport.Require(t.Context(), access.RoleRun); !errors.Is(err, transport.ErrUnauthorized) {
		t.Errorf("no caller: %v", err)
	}
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := transport.With(t.Context(), &transport.Caller{Principal: access.Principal{Name: "ci", Role: access.RoleRun},
		Service: s})
	if c, err := transport.Require(ctx, access.RoleRun); err != nil || c.Service != s {
		t.Errorf("run: %v", err)
	}
	var forbidden *transport.ForbiddenError
	if _, err := transport.Require(ctx, access.RoleEdit); !errors.As(err, &forbidden) {
		t.Errorf("edit: %v", err)
	}
	if err := transport.From(ctx).RequireApproval(); !errors.As(err, &forbidden) {
		t.Errorf("approval: %v", err)
	}
}
