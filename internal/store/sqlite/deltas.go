package sqlite

// Hear implements journal.Deltas. A file passes nothing on.
func (*Store) Hear(string, func(text string)) (stop func()) { return func() {} }

// IsHeard implements journal.Deltas.
func (*Store) IsHeard(string) bool { return false }

// Pass implements journal.Deltas.
func (*Store) Pass(string, string) {}
