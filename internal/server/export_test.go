package server

import "net/http"

// AddDoor puts a door beside those that there are.
func (s *Server) AddDoor(d Door) error { return s.mount(append(s.table, d)) }

// Swap replaces ports.
func (s *Server) Swap(t Tokens, a Audit, k Tickets) {
	if t != nil {
		s.tokens = t
	}
	s.audit, s.tickets = a, k
}

// Streams is streams.
func Streams(r *http.Request) bool { return streams(r) }
