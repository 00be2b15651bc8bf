package view

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/project"
)

// ErrCursor says that a cursor is none that a page of this list gave.
var ErrCursor = errors.New("not a cursor of this list")

// Page is a part of a list.
type Page struct {
	// Cursor continues where the page before ended; empty begins the list.
	Cursor string
	// Limit is the most entries; 0: none at all.
	Limit int
}

// All is the limit of a page of all entries.
const All = math.MaxInt32

// Bounds of pages of steps, logs and trails.
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

// IsTrail tells whether a cursor is one of a trail.
func IsTrail(cursor string) bool {
	if cursor == "" {
		return false
	}
	_, err := Page{Cursor: cursor}.place(listTrail)
	return err == nil
}

// place is how many entries of the list come before the page.
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

// part is the part of the list that the page is of.
func (p Page) part(list string) (project.Part, error) {
	from, err := p.place(list)
	return project.Part{From: from, N: p.Limit}, err
}

// cut gives the page of a list, and the cursor of the next one. kept are the entries of the list from the page's place on; there are count in all.
func cut[T any](p Page, list string, kept []T, count int) ([]T, string, error) {
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
