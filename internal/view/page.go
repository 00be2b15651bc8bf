package view

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/project"
)

// ErrCursor is returned for a cursor that does not come from a page of this list.
var ErrCursor = errors.New("not a cursor of this list")

// Page is a part of a list.
type Page struct {
	// Cursor continues where the previous page ended; empty starts at the beginning of the list.
	Cursor string
	// Limit is the maximum number of entries; 0 means no entries.
	Limit int
}

// All is the limit for a page with all entries.
const All = math.MaxInt32

// Limits of pages of steps, logs and trails.
const (
	DefaultPage = 200
	MaxPage     = 1000
)

// Lists that have cursors.
const (
	listSteps = "steps"
	listTrail = "trail"
	listLogs  = "logs"
)

// IsTrail reports whether a cursor belongs to a trail.
func IsTrail(cursor string) bool {
	if cursor == "" {
		return false
	}
	_, err := Page{Cursor: cursor}.place(listTrail)
	return err == nil
}

// place returns the number of entries of the list before the page.
func (p Page) place(list string) (int, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	if err != nil {
		return 0, ErrCursor
	}
	number, ok := strings.CutPrefix(string(text), list+":")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil || n < 0 || strconv.FormatInt(n, 10) != number {
		return 0, ErrCursor
	}
	return int(n), nil
}

func cursor(list string, place int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(list + ":" + strconv.Itoa(place)))
}

// part returns the part of the list that the page covers.
func (p Page) part(list string) (project.Part, error) {
	from, err := p.place(list)
	return project.Part{From: from, N: p.Limit}, err
}

// pageOf returns a page of a list, and the cursor of the next page. kept holds the entries of the
// list from the page's start on; count is the total number of entries.
func pageOf[T any](p Page, list string, kept []T, count int) ([]T, string, error) {
	from, err := p.place(list)
	if err != nil || p.Limit == 0 {
		return kept[:0], "", err
	}
	kept = kept[:min(p.Limit, len(kept))]
	if count-p.Limit <= from {
		return kept, "", nil
	}
	return kept, cursor(list, from+p.Limit), nil
}
