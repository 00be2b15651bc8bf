package mcpserver

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// Failed returns the result that a client receives for a tool error.
func (s *Server) Failed(ctx context.Context, tool string, err error) *sdk.CallToolResult {
	return (&account{server: s}).failed(ctx, tool, err)
}

// AlsoOffer makes sessions that are opened from now on offer additional tools.
func (s *Server) AlsoOffer(add func(*sdk.Server)) { s.also = add }

// Watched returns the number of resources that sessions of all accounts subscribe to.
func (s *Server) Watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.accounts {
		d.mu.Lock()
		n += len(d.watched)
		d.mu.Unlock()
	}
	return n
}

// Watching returns the number of accounts that are watched.
func (s *Server) Watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.accounts {
		if d.watching {
			n++
		}
	}
	return n
}

// SetAudit sets Config.Audit of a server that does not serve requests yet.
func (s *Server) SetAudit(audit transport.Audit) { s.cfg.Audit = audit }
