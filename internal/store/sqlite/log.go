package sqlite

import "os"

// limitLog keeps the log under its bound where readers that overlap never let it begin anew: while the writer waits here, new readers need
// nothing of the log, and the old ones end.
func (w *writer) limitLog() {
	if w.wrote < checkWAL {
		return
	}
	w.wrote = 0
	if st, err := os.Stat(w.path + "-wal"); err == nil && st.Size() > maxWAL {
		_ = checkpoint(w.conn, sqlRestartWAL) // asked again a little later
	}
}

// checkpoint folds the log into the file, and waits a moment for readers that need it.
func checkpoint(c *conn, text sqlText) error {
	for _, q := range []sqlText{sqlBusyWriter, text, sqlBusyNow} {
		if _, err := c.exec(q); err != nil && !isBusy(err) {
			return err
		}
	}
	return nil
}
