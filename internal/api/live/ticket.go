package live

import (
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/service"
)

// Path gives the address of a run's events below that of a server.
func Path(run string) string { return "/api/v1/runs/" + run + "/events" }

// Ticket is what lets a browser's EventSource in: a word for the query parameter `ticket` of Path, which it opens alone. It must be used first before it expires.
type Ticket struct {
	Ticket  string    `json:"ticket"`
	Path    string    `json:"path"`
	Expires time.Time `json:"expires"`
}

// IssueTicket gives the caller a ticket for the events of a run. Errors: journal.ErrNotFound; *service.LimitError.
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
