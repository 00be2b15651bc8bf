package sqlite

import (
	"cmp"
	"slices"
	"strconv"
)

// text is a run's entry for the full-text index: words as journal.Texts encodes them.
type text struct {
	run   int64 // runs.id
	words string
}

// index adds the words of the transaction to the full-text index, as its last statement. Each
// statement that SQLite may have to undo by itself makes FTS5 write what it has gathered: words
// added one run at a time, between other statements, would create an index segment for each run,
// soon to be merged with others; so would words in another order than that of their runs. A run
// that was pruned meanwhile is skipped.
func (w *writer) index() error {
	if len(w.texts) == 0 {
		return nil
	}
	slices.SortStableFunc(w.texts, func(a, b text) int { return cmp.Compare(a.run, b.run) })
	size := 0
	for _, t := range w.texts {
		size += len(t.words) + 32
	}
	list := append(make([]byte, 0, size), '[')
	for i, t := range w.texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(append(list, '['), t.run, 10)
		list = append(append(append(list, `,"`...), t.words...), `"]`...) // letters and spaces only
	}
	clear(w.texts)
	w.texts = w.texts[:0]
	_, err := w.conn.exec(sqlSetTexts, string(append(list, ']')))
	return err
}
