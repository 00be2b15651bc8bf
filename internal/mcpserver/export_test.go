package mcpserver

// Watched counts the resources that sessions of all desks subscribed to.
func (s *Server) Watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, d := range s.desks {
		d.mu.Lock()
		n += len(d.watched)
		d.mu.Unlock()
	}
	return n
}
