package sqlite

// SetPruneRecords makes pruning go in steps of n records.
func (s *Store) SetPruneRecords(n int) { s.pruneRecords = n }
