package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// MarshalEvent returns the event of run as one line of JSON without a line ending, in its public
// form:
//
//	{"run":"…","seq":17,"time":"2026-01-01T00:00:00.000000Z","type":"…","node":"…","step":4,"data":{…}}
//
// node and step are null if the event belongs to the whole run. Data is as the event has it;
// callers that want arguments, inputs and outputs that follow from earlier events pass the expanded
// event (package project). Bytes that are not UTF-8 become U+FFFD.
//
// Errors: those of Encode. Source: docs/events.md.
func MarshalEvent(run string, e event.Event) ([]byte, error) {
	p, v, err := dataPlan(e.Data)
	if err != nil {
		return nil, fmt.Errorf("show event %d: %w", e.Seq, err)
	}
	w := writer{buf: make([]byte, 0, 256)}
	w.buf = append(w.buf, `{"run":`...)
	w.text(run)
	w.buf = append(w.buf, `,"seq":`...)
	w.buf = strconv.AppendUint(w.buf, e.Seq, 10)
	w.buf = append(w.buf, `,"time":`...)
	w.buf = appendTime(w.buf, e.At)
	w.buf = append(w.buf, `,"type":"`...)
	w.buf = append(w.buf, e.Data.Type()...)
	w.buf = append(w.buf, `","node":`...)
	if e.Node == "" {
		w.buf = append(w.buf, `null`...)
	} else {
		w.text(e.Node)
	}
	w.buf = append(w.buf, `,"step":`...)
	if e.Step == 0 {
		w.buf = append(w.buf, `null`...)
	} else {
		w.buf = strconv.AppendInt(w.buf, int64(e.Step), 10)
	}
	w.buf = append(w.buf, `,"data":`...)
	if err := w.value(p, v); err != nil {
		return nil, fmt.Errorf("show event %d: %w", e.Seq, err)
	}
	w.buf = append(w.buf, '}')
	// Line endings can only be white space of a Value: in strings they are escaped.
	if bytes.IndexByte(w.buf, '\n') >= 0 || bytes.IndexByte(w.buf, '\r') >= 0 || !utf8.Valid(w.buf) {
		w.buf = bytes.Map(func(c rune) rune {
			if c == '\n' || c == '\r' {
				return ' '
			}
			return c
		}, w.buf)
	}
	return w.buf, nil
}

// UnmarshalEvent reads an event from the output of MarshalEvent, and the run to which it belongs.
// It returns a *NewerError for a type that this program does not know, and other errors for input
// that is not an event.
func UnmarshalEvent(line []byte) (run string, e event.Event, err error) {
	var shown struct {
		Run  string          `json:"run"`
		Seq  uint64          `json:"seq"`
		Time time.Time       `json:"time"`
		Type event.Type      `json:"type"`
		Node string          `json:"node"`
		Step int             `json:"step"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(line, &shown); err != nil {
		return "", e, fmt.Errorf("read event: %w", err)
	}
	data, ok := engine.NewData(shown.Type)
	if !ok {
		return "", e, &NewerError{What: "event " + string(shown.Type), Have: RecordVersion}
	}
	if err := json.Unmarshal(shown.Data, data); err != nil {
		return "", e, fmt.Errorf("read event %d: %w", shown.Seq, err)
	}
	return shown.Run, event.Event{Seq: shown.Seq, At: shown.Time, Node: shown.Node, Step: shown.Step, Data: data}, nil
}
