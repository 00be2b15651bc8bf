package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/adapter"
	"github.com/hocket-run/hocket/internal/model/providers"
)

// protocolOf returns the protocol of a request path, or "" if it is not the path of a model call.
func protocolOf(path string) model.Protocol {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return model.ProtocolOpenAI
	case strings.HasSuffix(path, "/messages"):
		return model.ProtocolAnthropic
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return model.ProtocolGoogle
	}
	return ""
}

// manyBytes is the length of a text that no provider sends in a single chunk when it streams.
const manyBytes = 600

// differences returns how an exchange differs from what Hocket expects, and whether it has usage. A
// refusal has no usage and costs nothing.
func differences(x *exchange) (found []string, hasUsage bool) {
	switch {
	case x.status == 0:
		return nil, false
	case x.status >= http.StatusBadRequest:
		return []string{fmt.Sprintf("refused with %d: %s", x.status, clip(string(x.body)))}, true
	}
	expected, ok := providers.Expected(protocolOf(x.path))
	if !ok {
		return nil, false
	}
	note := func(format string, args ...any) {
		if d := fmt.Sprintf(format, args...); !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	isStream := strings.HasPrefix(x.contentType, "text/event-stream")
	if !isStream {
		note("answered as %s, not as a stream", x.contentType)
	}
	events := eventsOf(x.body, isStream)
	c := comparison{Answers: expected, note: note}
	hasEnd := !isStream || expected.End == ""
	for _, e := range events {
		if e == expected.End {
			hasEnd = true
			continue
		}
		var v any
		if json.Unmarshal([]byte(e), &v) != nil {
			if !x.cut {
				note("an event is not JSON: %s", clip(e))
			}
			continue
		}
		if object, ok := v.(map[string]any); ok && object["type"] == expected.End {
			hasEnd = true
		}
		c.check("", v, expected.Types)
	}
	if !c.hasUsage && !x.cut {
		note("no usage")
	}
	if !hasEnd && !x.cut {
		note("the stream ends without %s", expected.End)
	}
	if c.pieces == 1 && c.bytes >= manyBytes && isStream {
		note("a text of %d bytes or more in one event", manyBytes)
	}
	return found, c.hasUsage
}

// eventsOf returns the events of a stream, or the whole response.
func eventsOf(body []byte, isStream bool) (events []string) {
	if !isStream {
		return []string{string(body)}
	}
	for line := range bytes.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "data:"); ok &&
			strings.TrimSpace(data) != "" {
			events = append(events, strings.TrimSpace(data))
		}
	}
	return events
}

// comparison compares the events of a response with the expected types.
type comparison struct {
	adapter.Answers
	note          func(string, ...any)
	hasUsage      bool
	pieces, bytes int
}

// check compares a value at a path with the types that it may have. If there are no types, any
// value is expected.
func (c *comparison) check(path string, v any, types []reflect.Type) {
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			c.check(path, element, elements(types))
		}
	case map[string]any:
		for key, value := range v {
			at := strings.TrimPrefix(path+"."+key, ".")
			c.hasUsage = c.hasUsage || (at == c.Usage || strings.HasSuffix(at, "."+c.Usage)) && value != nil
			inner, known := field(types, key)
			if !known && !slices.Contains(c.Extra, at) {
				c.note("unknown field %s", at)
				continue
			}
			c.check(at, value, inner)
		}
	case string:
		if known := c.Words[path]; known != nil && v != "" && !slices.Contains(known, v) {
			c.note("unknown %s %q", path, v)
		}
		if slices.Contains(c.Texts, path) && v != "" {
			c.pieces++
			c.bytes += len(v)
		}
	}
}

// field returns the types that a JSON field has in objects of the types, and whether any of them
// has it. If the field is known but has no types, any value is expected.
func field(types []reflect.Type, key string) (inner []reflect.Type, known bool) {
	if len(types) == 0 {
		return nil, true
	}
	for _, t := range types {
		t = plain(t)
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
				if f.Anonymous || strings.Contains(options, "inline") {
					if in, ok := field([]reflect.Type{f.Type}, key); ok {
						inner, known = append(inner, in...), true
					}
				}
				if name == key {
					inner, known = append(inner, f.Type), true
				}
			}
		case reflect.Map:
			inner, known = append(inner, t.Elem()), true
		case reflect.Interface, reflect.Slice: // any value, and raw JSON
			return nil, true
		}
	}
	if slices.ContainsFunc(inner, isAnything) {
		return nil, true
	}
	return inner, known
}

// elements returns the element types of arrays.
func elements(types []reflect.Type) []reflect.Type {
	var inner []reflect.Type
	for _, t := range types {
		switch t = plain(t); t.Kind() {
		case reflect.Slice, reflect.Array:
			inner = append(inner, t.Elem())
		case reflect.Struct: // a union, one of whose forms is an array
			for f := range t.Fields() {
				if list := plain(f.Type); list.Kind() == reflect.Slice {
					inner = append(inner, list.Elem())
				}
			}
		}
	}
	if slices.ContainsFunc(inner, isAnything) {
		return nil
	}
	return inner
}

// isAnything reports whether a value of type t can be any JSON.
func isAnything(t reflect.Type) bool {
	t = plain(t)
	return t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]()
}

func plain(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// clip truncates a text to one line.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return text
}
