package live

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/project"
)

// Types of messages that are no events of a journal.
const (
	TypeDelta = "model.delta" // a piece of what a model says
	TypeReset = "model.reset" // what an earlier attempt of a call said is void
	TypeEnd   = "end"         // the run has ended, and so does the stream
	TypeLog   = "log"         // what an event adds to the log
	TypeStep  = "step"        // what stream modes show of an event
)

const viewLogs = "logs"

// ask is what a request wants to see.
type ask struct {
	// after is the event after which to go on; given says that the request names one.
	after uint64
	given bool
	// logs or modes choose a view; neither: events, and of those the types, all where types is nil.
	logs  bool
	modes []project.Mode
	types map[string]bool
	// expand shows inputs of steps as texts, not as recipes. It belongs to events alone.
	expand bool
	// ticket is the one in the address, "" for none.
	ticket string
}

// view names what pumps have in common.
func (a *ask) view() string {
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

// wants tells whether a message of this type is to be written.
func (a *ask) wants(f *frame) bool { return a.types == nil || a.types[f.kind] }

// deltas tells whether pieces of what models say are wanted.
func (a *ask) deltas() bool {
	return !a.logs && len(a.modes) == 0 && (a.types == nil || a.types[TypeDelta])
}

// badQuery is a request that cannot be understood.
type badQuery string

func (e badQuery) Error() string { return string(e) }

// Parameters gives the query parameters that [Handler] knows. The slice is the caller's.
func Parameters() []string { return []string{"after", "expand", "mode", "ticket", "types", "view"} }

// parse reads a request. What is not known is an error, never ignored (SEC7).
func parse(r *http.Request) (ask, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return ask{}, badQuery("malformed query: " + err.Error())
	}
	var a ask
	for name := range q {
		if !slices.Contains(Parameters(), name) {
			return ask{}, badQuery(fmt.Sprintf("unknown query parameter %q; known: %s", name, strings.Join(Parameters(), ", ")))
		}
	}
	for _, name := range []string{"after", "expand", "view", "ticket"} {
		if len(q[name]) > 1 {
			return ask{}, badQuery(fmt.Sprintf("the query parameter %q is given more than once", name))
		}
	}
	a.ticket = q.Get("ticket")
	if err := a.readAfter(r.Header, q); err != nil {
		return ask{}, err
	}
	if v := q.Get("view"); v == viewLogs {
		a.logs = true
	} else if q.Has("view") {
		return ask{}, badQuery(fmt.Sprintf("unknown view %q; known: logs", v))
	}
	for _, m := range words(q, "mode") {
		if !slices.Contains(project.Modes(), project.Mode(m)) {
			return ask{}, badQuery(fmt.Sprintf("unknown mode %q; known: %s", m, list(project.Modes())))
		}
		if !slices.Contains(a.modes, project.Mode(m)) {
			a.modes = append(a.modes, project.Mode(m))
		}
	}
	if err := a.readTypes(words(q, "types")); err != nil {
		return ask{}, err
	}
	if a.logs && len(a.modes) > 0 || (a.logs || len(a.modes) > 0) && a.types != nil {
		return ask{}, badQuery("mode, view and types exclude each other")
	}
	if q.Has("expand") {
		if a.expand, err = strconv.ParseBool(q.Get("expand")); err != nil {
			return ask{}, badQuery(fmt.Sprintf("expand is true or false, not %q", q.Get("expand")))
		}
		if a.expand && (a.logs || len(a.modes) > 0) {
			return ask{}, badQuery("expand is for events, not for mode or view")
		}
	}
	return a, nil
}

// readAfter finds where to go on. A browser that comes back says it in the header, and has the address with which it began.
func (a *ask) readAfter(h http.Header, q url.Values) error {
	name, text := "Last-Event-ID", h.Get("Last-Event-ID")
	if text == "" {
		name, text = "after", q.Get("after")
		if !q.Has("after") {
			return nil
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return badQuery(fmt.Sprintf("%s %q is not an event number; send the id of the last message received, or omit it", name, text))
	}
	a.after, a.given = n, true
	return nil
}

func (a *ask) readTypes(names []string) error {
	for _, t := range names {
		if _, ok := engine.NewData(engine.Type(t)); !ok && t != TypeDelta {
			return badQuery(fmt.Sprintf("unknown event type %q; known: %s, %s", t, list(engine.Types()), TypeDelta))
		}
		if a.types == nil {
			a.types = map[string]bool{}
		}
		a.types[t] = true
		if t == TypeDelta {
			a.types[TypeReset] = true // pieces without it would be taken for one text
		}
	}
	return nil
}

// words gives the values of a parameter that may be there several times, and may hold several with commas between them. One that is empty stays, to be refused.
func words(q url.Values, name string) []string {
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
