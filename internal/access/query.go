package access

import (
	"math"
	"strconv"
)

// Bounds returns the records that a query selects in the terms of stores: at most limit of those
// with an id less than before. It returns an *InvalidError if the query is invalid.
func (q Query) Bounds() (before int64, limit int, err error) {
	limit = min(max(q.Limit, 1), MaxPage)
	if q.Limit == 0 {
		limit = DefaultPage
	}
	if q.Cursor == "" {
		return math.MaxInt64, limit, nil
	}
	before, err = strconv.ParseInt(q.Cursor, 10, 64)
	if err != nil || before < 1 || strconv.FormatInt(before, 10) != q.Cursor {
		return 0, 0, invalidf("not a cursor of the audit log")
	}
	return before, limit, nil
}

// PageOf returns the page for the records that a store found for [Query.Bounds], fetched with one
// more than the limit, newest first.
func PageOf(found []Record, limit int) Page {
	p := Page{Items: found}
	if p.Items == nil {
		p.Items = []Record{}
	}
	if len(found) > limit {
		p.Items = found[:limit]
		p.Next = strconv.FormatInt(found[limit-1].ID, 10)
	}
	return p
}
