package runsapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// filters are the query parameters of the list, the same as those of the operation listRuns.
var filters = []string{
	"status", "prefix", "workflow", "parent", "interrupted", "createdFrom", "createdBefore", "q", "label", "format",
	"branch", "trigger", "code", "minCost", "maxCost", "minDuration", "maxDuration",
}

// Page size limits of lists.
const (
	defaultRuns = 50
	maxRuns     = 200
)

// page is a page of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next"`
}

func (h *Handler) list(w http.ResponseWriter, r *http.Request, _ string) error {
	in := r.URL.Query()
	q, err := query(in)
	if err != nil {
		return err
	}
	if q.Limit, err = number(in, "limit", defaultRuns, maxRuns); err != nil {
		return err
	}
	q.Cursor = in.Get("cursor")
	heads, next, err := h.cfg.Service.List(r.Context(), q)
	if err != nil {
		return err
	}
	out := page[view.RunLine]{Items: []view.RunLine{}, Next: next}
	for _, head := range heads {
		if _, err := h.authorize(r, ActionShow, head.Run); err == nil {
			out.Items = append(out.Items, view.LineOf(head))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client may be gone
	return nil
}

// query parses the filters of a list.
func query(in url.Values) (q journal.Query, err error) {
	q.Prefix, q.Workflow, q.Parent = in.Get("prefix"), in.Get("workflow"), in.Get("parent")
	if text := in.Get("status"); text != "" {
		for name := range strings.SplitSeq(text, ",") {
			st := journal.Status(strings.TrimSpace(name))
			if !st.IsKnown() {
				return q, badf(http.StatusUnprocessableEntity, "query.status: %q is not a status", st)
			}
			if !slices.Contains(q.Statuses, st) {
				q.Statuses = append(q.Statuses, st)
			}
		}
	}
	if text := in.Get("interrupted"); text != "" {
		if q.Interrupted, err = strconv.ParseBool(text); err != nil {
			return q, badf(http.StatusUnprocessableEntity, "query.interrupted: must be true or false")
		}
	}
	for name, at := range map[string]*time.Time{"createdFrom": &q.CreatedFrom, "createdBefore": &q.CreatedBefore} {
		if text := in.Get(name); text != "" {
			if *at, err = time.Parse(time.RFC3339, text); err != nil {
				return q, badf(http.StatusUnprocessableEntity, "query.%s: must be a time, such as 2026-11-23T09:00:00Z",
					name)
			}
		}
	}
	f := service.Filter{
		Search: in.Get("q"), Format: in.Get("format"), Branch: in.Get("branch"), Trigger: in.Get("trigger"),
		Code: in.Get("code"), MinDuration: in.Get("minDuration"), MaxDuration: in.Get("maxDuration"),
	}
	if text := in.Get("label"); text != "" {
		f.Labels = strings.Split(text, ",")
	}
	for name, to := range map[string]**float64{"minCost": &f.MinCost, "maxCost": &f.MaxCost} {
		if text := in.Get(name); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n >= 0) {
				return q, badf(http.StatusUnprocessableEntity, "query.%s: must be a number, 0 or more", name)
			}
			*to = &n
		}
	}
	return q, f.Apply(&q)
}

// number parses a query parameter as a number from 1 to most; if it is absent, number returns
// usual.
func number(in url.Values, name string, usual, most int) (int, error) {
	text := in.Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, badf(http.StatusUnprocessableEntity, "query.%s: must be a number from 1 to %d", name, most)
	}
	return n, nil
}

func (h *Handler) show(w http.ResponseWriter, r *http.Request, _ string) error {
	in := r.URL.Query()
	limit, err := number(in, "limit", view.DefaultPage, view.MaxPage)
	if err != nil {
		return err
	}
	switch in.Get("steps") {
	case "":
	case "none":
		limit = 0
	default:
		return badf(http.StatusUnprocessableEntity, "query.steps: must be none")
	}
	return h.run(w, r, http.StatusOK, view.Page{Cursor: in.Get("cursor"), Limit: limit})
}

// run writes the run object.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, status int, p view.Page) error {
	ctx, id := r.Context(), r.PathValue("id")
	reader, err := h.cfg.Service.View(ctx, id)
	if err != nil {
		return err
	}
	o, err := reader.Run(ctx, p)
	if err != nil {
		return paged(err)
	}
	return write(w, r, reader, status, o)
}

// context writes the step context.
func (h *Handler) context(w http.ResponseWriter, r *http.Request, _ string) error {
	reader, err := h.cfg.Service.View(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	steps, err := reader.Context(r.Context())
	if err != nil {
		return err
	}
	return write(w, r, reader, http.StatusOK, steps)
}

// paged maps paging errors to their status.
func paged(err error) error {
	if errors.Is(err, view.ErrCursor) {
		return badf(http.StatusBadRequest, "query.cursor: %v", err)
	}
	return err
}

// write writes a view of a run; long values are references to URLs under the handler.
func write(w http.ResponseWriter, r *http.Request, reader *view.Reader, status int, v any) error {
	doc, err := reader.Prepare(r.Context(), v,
		view.Style{Limit: view.Limit, Bounded: true, Href: func(digest string, isText bool) string {
			path := base(r) + "/runs/" + url.PathEscape(r.PathValue("id")) + "/values/" + digest
			if !isText {
				path += "?type=json"
			}
			return path
		}})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := doc.WriteTo(r.Context(), w); err != nil {
		panic(http.ErrAbortHandler) // the client sees that the response was aborted
	}
	return nil
}

func (h *Handler) value(w http.ResponseWriter, r *http.Request, _ string) error {
	kind := cmp.Or(r.URL.Query().Get("type"), "text")
	if kind != "text" && kind != "json" {
		return badf(http.StatusUnprocessableEntity, "query.type: must be text or json")
	}
	reader, err := h.cfg.Service.View(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	found, err := reader.Find(r.Context(), r.PathValue("digest"), kind == "text")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	if found.IsText {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	w.Header().Set("Content-Length", strconv.FormatInt(found.Bytes, 10))
	if err := found.WriteTo(r.Context(), w); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// errPageFull stops the reading of events.
var errPageFull = errors.New("the page is full")

// events streams the events if the client accepts that, and otherwise writes a page of them.
func (h *Handler) events(w http.ResponseWriter, r *http.Request, who string) error {
	in := r.URL.Query()
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream") {
		h.live.ServeHTTP(w, r.WithContext(transport.With(r.Context(), h.caller(who))))
		return nil
	}
	for _, name := range []string{"after", "types", "mode", "view"} {
		if in.Has(name) {
			return badf(http.StatusBadRequest, "query.%s is one of streams: send Accept: text/event-stream", name)
		}
	}
	limit, err := number(in, "limit", view.DefaultPage, view.MaxPage)
	if err != nil {
		return err
	}
	var after uint64
	if text := in.Get("cursor"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return badf(http.StatusBadRequest, "query.cursor: not a cursor of a previous page")
		}
	}
	reader, err := h.cfg.Service.View(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	out := page[json.RawMessage]{Items: []json.RawMessage{}}
	folder := reader.Folder()
	err = reader.Each(r.Context(), 0, func(e event.Event) error { // an event refers to earlier ones
		if e.Seq > after {
			if len(out.Items) == limit {
				out.Next = strconv.FormatUint(e.Seq-1, 10)
				return errPageFull
			}
			text, err := reader.Event(folder.Shown(e, in.Get("expand") == "true"))
			if err != nil {
				return err
			}
			out.Items = append(out.Items, text)
		}
		folder.Add(e)
		return nil
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return err
	}
	return write(w, r, reader, http.StatusOK, out)
}

// storeTimeout is how long a store that accepts no writes is retried.
const storeTimeout = 20 * time.Second

// withStoreTimeout calls do, which acts on a run and would block on a store that does not respond.
func withStoreTimeout(ctx context.Context, do func(context.Context) error) error {
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	err := do(bound)
	if err != nil && bound.Err() != nil {
		return fmt.Errorf("%w: %w", service.ErrUnavailable, err)
	}
	return err
}
