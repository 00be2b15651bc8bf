package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// query rejects query parameters that the operation does not have or that are repeated (SEC7):
// ignoring one would mean a filter that does not filter.
func (g *gate) query(ctx huma.Context) *Problem {
	u := ctx.URL()
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return formProblem(http.StatusBadRequest, "malformed query",
			InputError{Location: "query", Message: "not well formed"})
	}
	var errs []InputError
	var names []string
	for name, list := range values {
		switch {
		case !slices.Contains(g.known, name):
			errs = append(errs, InputError{Location: "query." + name, Message: "unknown parameter" + g.has()})
		case len(list) > 1:
			errs = append(errs, InputError{Location: "query." + name, Message: "given more than once"})
		default:
			continue
		}
		names = append(names, name)
	}
	if len(errs) == 0 {
		return nil
	}
	slices.SortStableFunc(errs, func(a, b InputError) int { return strings.Compare(a.Location, b.Location) })
	slices.Sort(names)
	return formProblem(http.StatusBadRequest, "invalid query parameters: "+strings.Join(names, ", "), errs...)
}

// singleHeaders are the request headers that may have only one value, since of two values one would
// be ignored.
var singleHeaders = []string{"Idempotency-Key", "If-Match"}

// headers rejects requests with repeated headers, and compressed bodies, which no operation reads.
func headers(ctx huma.Context) *Problem {
	seen := map[string]int{}
	packed := ""
	ctx.EachHeader(func(name, value string) {
		seen[http.CanonicalHeaderKey(name)]++
		if strings.EqualFold(name, "Content-Encoding") && !strings.EqualFold(value, "identity") {
			packed = value
		}
	})
	for _, name := range singleHeaders {
		if seen[name] > 1 {
			return formProblem(http.StatusBadRequest, name+" is given more than once",
				InputError{Location: "header." + name, Message: "given more than once"})
		}
	}
	if packed != "" {
		return formProblem(http.StatusUnsupportedMediaType, "compressed request bodies are not supported",
			InputError{Location: "header.Content-Encoding", Message: "only identity is supported"})
	}
	return nil
}

// has returns the list of parameters for messages.
func (g *gate) has() string {
	if len(g.known) == 0 {
		return "; the operation has none"
	}
	return "; known: " + strings.Join(g.known, ", ")
}

// Page holds the parameters of every list.
type Page struct {
	Cursor string `query:"cursor" doc:"Cursor: next of the previous page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"Maximum number of items"`
}

// List is a page of items.
type List[T any] struct {
	Items []T    `json:"items" doc:"The items of this page"`
	Next  string `json:"next" doc:"The cursor of the next page; empty after the last"`
}

// listAnswer is the response with a List.
type listAnswer[T any] struct{ Body List[T] }

// listOf returns the response for a page of items, which may be empty.
func listOf[T any](items []T, next string) *listAnswer[T] {
	if items == nil {
		items = []T{}
	}
	return &listAnswer[T]{List[T]{items, next}}
}

// pageOf returns a page of all items, which are sorted by key in ascending or descending order. The
// cursor is the last key of the previous page.
func pageOf[T any](p Page, all []T, key func(T) string, isBehind func(key, cursor string) bool) (
	*listAnswer[T], error) {
	var items []T
	last := ""
	if p.Cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil || len(text) == 0 {
			return nil, badField("query.cursor", "not a cursor of a previous page")
		}
		last = string(text)
	}
	for _, v := range all {
		switch k := key(v); {
		case p.Cursor != "" && !isBehind(k, last):
		case len(items) == p.Limit:
			return listOf(items, base64.RawURLEncoding.EncodeToString([]byte(key(items[len(items)-1])))), nil
		default:
			items = append(items, v)
		}
	}
	return listOf(items, ""), nil
}

// ascending is the ascending order of ids.
func ascending(key, cursor string) bool { return key > cursor }

// sorted sorts all items by key and returns a page of them.
func sorted[T any](p Page, all []T, key func(T) string) (*listAnswer[T], error) {
	slices.SortStableFunc(all, func(a, b T) int { return strings.Compare(key(a), key(b)) })
	return pageOf(p, all, key, ascending)
}
