package live

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// Path returns the path of a run's events, relative to the URL of the server.
func Path(run string) string { return "/api/v1/runs/" + run + "/events" }

// Ticket authorizes a browser's EventSource: it is the value of the query parameter `ticket` of
// Path, and opens only that path. Its first use must be before it expires.
type Ticket struct {
	Ticket  string    `json:"ticket"`
	Path    string    `json:"path"`
	Expires time.Time `json:"expires"`
}

// IssueTicket issues a ticket for the events of a run to the caller. It returns journal.ErrNotFound
// if there is no such run, or a *service.LimitError.
func (h *Handler) IssueTicket(ctx context.Context, c *transport.Caller, run string) (Ticket, error) {
	if _, err := c.Service.Head(ctx, run); err != nil {
		return Ticket{}, err
	}
	if h.cfg.Tickets == nil {
		return Ticket{}, &service.LimitError{Limit: "tickets of this server"}
	}
	text, until, err := h.cfg.Tickets.Issue(c.Principal, Path(run))
	if errors.Is(err, access.ErrTickets) {
		return Ticket{}, &service.LimitError{Limit: "open tickets of one token", Max: access.MaxTickets}
	}
	if err != nil {
		return Ticket{}, err
	}
	return Ticket{Ticket: text, Path: Path(run), Expires: until.UTC()}, nil
}
