package hooks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/form"
)

// LinkForTest returns a link for a wait.
func (h *Hooks) LinkForTest(ctx context.Context, namespace, run, wait, whose string, from time.Time) (string, error) {
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return "", err
	}
	w, _, err := readWait(ctx, sp.service, run, wait)
	if err != nil {
		return "", err
	}
	return h.link(sp, run, w, "ep_test", whose, from)
}

// StoreForTest returns the store of a namespace; nil if there is none.
func (h *Hooks) StoreForTest(ctx context.Context, namespace string) Store {
	sp, err := h.space(ctx, namespace)
	if err != nil {
		return nil
	}
	return sp.store
}

// WaitForTest is an open wait.
type WaitForTest event.WaitOpened

// Answer returns the answer in a form.
func (w WaitForTest) Answer(sent url.Values) (value, problem string) {
	v, problem := (&journaledWait{WaitOpened: event.WaitOpened(w)}).answerOf(sent)
	return string(v), problem
}

// Shapes of the page, for ShowForTest.
const (
	ShapeButtons = "buttons"
	ShapeText    = "text"
	ShapeFields  = "fields"
	ShapeMessage = "message"
)

// ShowForTest shows a page in which every text is the given one.
func ShowForTest(w http.ResponseWriter, shape, text string) {
	now := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	v, ask := view{Bad: true}, openWait{Changed: true, Since: now, Expires: now, Deadline: now}
	fill(reflect.ValueOf(&v).Elem(), text)
	fill(reflect.ValueOf(&ask).Elem(), text)
	if shape == ShapeButtons {
		ask.Options = make([]choice, 2)
		for i := range ask.Options {
			fill(reflect.ValueOf(&ask.Options[i]).Elem(), text)
		}
	}
	if shape == ShapeFields {
		value, _ := json.Marshal(text)
		for _, kind := range []form.Field{
			{Type: "string"}, {Type: "integer", Required: true}, {Enum: []json.RawMessage{value, value}},
			{Type: "boolean", Required: true}, {Required: true},
			{Type: "string", Format: "date"}, {Type: "string", Format: "email"},
		} {
			one := field{Field: kind, Text: text}
			if len(kind.Enum) > 0 {
				one.Text = "1"
			}
			one.Title, one.Description, one.Name = text, text, text
			ask.Fields = append(ask.Fields, one)
		}
	}
	if shape != ShapeMessage {
		v.Ask = &ask
	}
	show(w, http.StatusOK, v)
}

// fill sets all strings of a struct.
func fill(v reflect.Value, text string) {
	for _, f := range v.Fields() {
		if f.Kind() == reflect.String {
			f.SetString(text)
		}
	}
}
