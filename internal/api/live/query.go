package live

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
)

// Types of messages that are not journal events.
const (
	TypeDelta = "model.delta" // a piece of model output
	TypeReset = "model.reset" // output of an earlier attempt is void
	TypeEnd   = "end"         // the run has ended, and so does the stream
	TypeLog   = "log"         // what an event adds to the log
	TypeStep  = "step"        // what stream modes show of an event
)

const viewLogs = "logs"

// streamRequest is a parsed stream request.
type streamRequest struct {
	// after is the event after which to continue; given is set if the request specifies it.
	after    uint64
	hasAfter bool
	// logs and modes select a view; without them the view is events, limited to types unless types
	// is nil.
	logs  bool
	modes []project.Mode
	types map[string]bool
	// expand shows inputs of steps as strings instead of recipes. It applies only to events.
	expand bool
	// ticket is the ticket in the URL, or "" if there is none.
	ticket string
}

// view returns the key of the view; requests with the same key share a pump.
func (a *streamRequest) view() string {
	switch {
	case a.logs:
		return viewLogs
	case len(a.modes) > 0:
		return fmt.Sprint(a.modes)
	case a.expand:
		return "expanded"
	}
	return ""
}

// wants reports whether the message is to be written.
func (a *streamRequest) wants(f *frame) bool { return a.types == nil || a.types[f.kind] }

// deltas reports whether pieces of model output are wanted.
func (a *streamRequest) deltas() bool {
	return !a.logs && len(a.modes) == 0 && (a.types == nil || a.types[TypeDelta])
}

// badQuery is the error for an invalid request.
type badQuery string

func (e badQuery) Error() string { return string(e) }

// Parameters returns the query parameters that [Handler] accepts. The caller owns the slice.
func Parameters() []string { return []string{"after", "expand", "mode", "ticket", "types", "view"} }

// parse parses a request. Unknown parameters are errors and never ignored (SEC7).
func parse(r *http.Request) (streamRequest, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return streamRequest{}, badQuery("malformed query: " + err.Error())
	}
	var a streamRequest
	for name := range q {
		if !slices.Contains(Parameters(), name) {
			return streamRequest{},
				badQuery(fmt.Sprintf("unknown query parameter %q; known: %s", name, strings.Join(Parameters(), ", ")))
		}
	}
	for _, name := range []string{"after", "expand", "view", "ticket"} {
		if len(q[name]) > 1 {
			return streamRequest{}, badQuery(fmt.Sprintf("the query parameter %q is given more than once", name))
		}
	}
	a.ticket = q.Get("ticket")
	if err := a.readAfter(r.Header, q); err != nil {
		return streamRequest{}, err
	}
	if v := q.Get("view"); v == viewLogs {
		a.logs = true
	} else if q.Has("view") {
		return streamRequest{}, badQuery(fmt.Sprintf("unknown view %q; known: logs", v))
	}
	for _, m := range splitValues(q, "mode") {
		if !slices.Contains(project.Modes(), project.Mode(m)) {
			return streamRequest{}, badQuery(fmt.Sprintf("unknown mode %q; known: %s", m, list(project.Modes())))
		}
		if !slices.Contains(a.modes, project.Mode(m)) {
			a.modes = append(a.modes, project.Mode(m))
		}
	}
	if err := a.readTypes(splitValues(q, "types")); err != nil {
		return streamRequest{}, err
	}
	if a.logs && len(a.modes) > 0 || (a.logs || len(a.modes) > 0) && a.types != nil {
		return streamRequest{}, badQuery("mode, view and types exclude each other")
	}
	if q.Has("expand") {
		if a.expand, err = strconv.ParseBool(q.Get("expand")); err != nil {
			return streamRequest{}, badQuery(fmt.Sprintf("expand is true or false, not %q", q.Get("expand")))
		}
		if a.expand && (a.logs || len(a.modes) > 0) {
			return streamRequest{}, badQuery("expand is for events, not for mode or view")
		}
	}
	return a, nil
}

// readAfter determines where to continue. A reconnecting browser sends the position in the header,
// and repeats the URL of its first request.
func (a *streamRequest) readAfter(h http.Header, q url.Values) error {
	name, text := "Last-Event-ID", h.Get("Last-Event-ID")
	if text == "" {
		name, text = "after", q.Get("after")
		if !q.Has("after") {
			return nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return badQuery(
			fmt.Sprintf("%s %q is not an event number; send the id of the last message received, or omit it", name,
				text))
	}
	a.after, a.hasAfter = n, true
	return nil
}

func (a *streamRequest) readTypes(names []string) error {
	for _, t := range names {
		if _, ok := engine.NewData(event.Type(t)); !ok && t != TypeDelta {
			return badQuery(fmt.Sprintf("unknown event type %q; known: %s, %s", t, list(engine.Types()), TypeDelta))
		}
		if a.types == nil {
			a.types = map[string]bool{}
		}
		a.types[t] = true
		if t == TypeDelta {
			a.types[TypeReset] = true // without resets, pieces of different attempts would run together
		}
	}
	return nil
}

// splitValues returns the values of a parameter that may be repeated and may hold several values
// separated by commas. An empty value is kept, to be rejected later.
func splitValues(q url.Values, name string) []string {
	var out []string
	for _, v := range q[name] {
		out = append(out, strings.Split(v, ",")...)
	}
	return out
}

func list[T ~string](words []T) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
