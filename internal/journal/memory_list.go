package journal

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// List implements Lists.
func (h *memHandle) List(ctx context.Context, q Query) ([]Head, string, error) {
	last := Cursor{}
	if q.Cursor != "" {
		c, err := ParseCursor(q.Cursor)
		if err != nil {
			return nil, "", err
		}
		last = c
	}
	type entry struct {
		Cursor
		head Head
	}
	newestFirst := q.newestFirst()
	var found []entry
	err := h.each(ctx, &q, func(r *memRun, head Head) {
		if e := (entry{Cursor{r.head.Created.UnixMicro(), r.key}, head}); q.Cursor == "" ||
			newestFirst(e.Cursor, last) > 0 {
			found = append(found, e)
		}
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortStableFunc(found, func(a, b entry) int { return newestFirst(a.Cursor, b.Cursor) })
	next := ""
	if n := q.PageSize(); len(found) > n {
		found = found[:n]
		next = found[n-1].String()
	}
	page := make([]Head, len(found))
	for i, e := range found {
		page[i] = e.head
	}
	return page, next, nil
}

// newestFirst returns a function that compares positions in the order in which q lists runs.
func (q *Query) newestFirst() func(a, b Cursor) int {
	if len(q.Search) > 0 {
		return func(a, b Cursor) int { return cmp.Compare(b.Key, a.Key) }
	}
	return Cursor.NewestFirst
}

// NewestFirst compares positions in the order of lists.
func (c Cursor) NewestFirst(d Cursor) int {
	return cmp.Or(cmp.Compare(d.Created, c.Created), cmp.Compare(d.Key, c.Key))
}

// each calls take with the runs of q, in any order.
func (h *memHandle) each(ctx context.Context, q *Query, take func(r *memRun, head Head)) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, r := range h.m.runs {
		if head := h.m.headOf(r); q.matches(head) && r.has(q.Search) {
			take(r, head)
		}
	}
	return nil
}

// has reports whether the texts of a run contain all terms of a search.
func (r *memRun) has(terms []Term) bool {
	if len(terms) == 0 {
		return true
	}
	if r.texts == nil {
		return false
	}
	indexed := strings.Fields(r.texts.IndexWords())
	return !slices.ContainsFunc(terms, func(t Term) bool { return !t.matchesWords(indexed) })
}

// Counts implements Lists.
func (h *memHandle) Counts(ctx context.Context, q Query) ([]Tally, error) {
	counts := map[Tally]int{}
	err := h.each(ctx, &q, func(_ *memRun, head Head) { counts[TallyOf(head)]++ })
	if err != nil {
		return nil, err
	}
	all := make([]Tally, 0, len(counts))
	for t, n := range counts {
		t.Runs = n
		all = append(all, t)
	}
	SortTallies(all)
	return all, nil
}

// TallyOf returns the tally to which a run belongs, without a count.
func TallyOf(h Head) Tally {
	return Tally{Status: h.Status, Workflow: h.Workflow, Trigger: h.Trigger, Format: h.Format}
}

// SortTallies sorts the results of Counts by status, workflow, trigger and format.
func SortTallies(all []Tally) {
	slices.SortStableFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Workflow, b.Workflow),
			cmp.Compare(a.Trigger, b.Trigger), cmp.Compare(a.Format, b.Format))
	})
}
