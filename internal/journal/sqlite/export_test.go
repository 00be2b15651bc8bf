package sqlite

import "time"

// SetPruneRecords makes pruning go in steps of n records.
func (s *Store) SetPruneRecords(n int) { s.pruneRecords = n }

// LosePatience makes Close wait for no other process.
func (s *Store) LosePatience() { s.writer.deadline = time.Unix(1, 0) }

// IsWriting tells whether somebody writes, or waits for another process to let him.
func (s *Store) IsWriting() bool {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.isBusy
}
