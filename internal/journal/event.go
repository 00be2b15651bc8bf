package journal

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/jsontext"
)

// AsideBytes is the size beyond which a string or a value is stored as a separate blob rather than
// in a record (D2).
const AsideBytes = 32 << 10

// An activation with more than partEvents events, or with more than about partBytes of data, is
// stored as several records in one transaction, so that no reader holds more of it at one time.
const (
	partEvents = 500
	partBytes  = 256 << 10
)

// The stored form of one activation, or of a part of it, version 2. No other form is accepted, and
// no white space (the line break below is not part of it):
//
//	{"v":2,"seq":17,"at":1767225600000000,"more":true,"aside":[[0,"/output","<hash>","text"]],
//	 "events":[[7,0,"writer",4,{…}],[8,{…}],…]}
//
// seq is the number of the first event, the others follow without gaps; at is µs since 1970. more
// is present if the next record continues the same activation. An event is its type (its number in
// typeNumbers, or the name), the µs since the previous event, node, step, and data with the field
// names of package engine. Time, node and step are left out if all three are the same as in the
// previous event; the first event is compared with one at time at, of no node and step 0.
//
// Values stored as blobs are referenced out of band, by index of the event, JSON pointer into its
// data, hash, and content type of the blob: `json` for a value's JSON, `text` for a string, or for
// the content of a value that is a JSON string. Their own position holds "" for a string and null
// for a value. Data is never searched for such references, so user data cannot be mistaken for them
// (SEC6).
const (
	asideJSON = "json"
	asideText = "text"
)

// EncodeParts returns the records of the events of one activation, and the blobs that they
// reference: one record, and further ones if there are many events. Equal events yield equal
// records. buf, which may be nil, is used for the data of the first record if it has room.
// Otherwise EncodeParts behaves like Encode.
func EncodeParts(buf []byte, events []event.Event) (first Record, more []Record, blobs []Blob, err error) {
	w, err := newWriter(buf, events, AsideBytes)
	if err != nil {
		return Record{}, nil, nil, err
	}
	defer w.free()
	for begin := 0; begin < len(events); {
		n, err := w.record(events[begin:], partEvents, partBytes)
		if err != nil {
			return Record{}, nil, nil, err
		}
		r := Record{First: events[begin].Seq, Last: events[begin+n-1].Seq, Version: RecordVersion, Data: w.buf}
		if begin == 0 {
			first = r
		} else {
			more = append(more, r)
		}
		if begin += n; begin < len(events) {
			w.buf = make([]byte, 0, len(w.buf)+len(w.buf)/8)
		}
	}
	return first, more, w.blobs, nil
}

// Encode returns Record.Data for the events of one activation as one record, and the blobs that it
// references. Equal events yield equal bytes.
//
// Strings and values over AsideBytes are stored as blobs, and so is every string that is not UTF-8,
// which JSON cannot hold: each is restored byte for byte. Times are truncated to µs, UTC. Encode
// keeps no reference to events, but a blob may share the bytes of a value.
//
// Encode returns an error if there are no events, if they are not numbered consecutively from a
// number of at least 1, or if they hold a Value that is not JSON; these are bugs of the caller.
func Encode(events []event.Event) (data []byte, blobs []Blob, err error) {
	return encode(events, AsideBytes)
}

// encode is Encode with a limit other than AsideBytes.
func encode(events []event.Event, limit int) (data []byte, blobs []Blob, err error) {
	w, err := newWriter(nil, events, limit)
	if err != nil {
		return nil, nil, err
	}
	defer w.free()
	if _, err := w.record(events, math.MaxInt, math.MaxInt); err != nil {
		return nil, nil, err
	}
	return w.buf, w.blobs, nil
}

// newWriter returns a writer for events. It writes the first record into buf if it has room.
func newWriter(buf []byte, events []event.Event, limit int) (*writer, error) {
	switch {
	case len(events) == 0:
		return nil, errors.New("encode events: there are none")
	case events[0].Seq == 0:
		return nil, errors.New("encode events: event has no number")
	}
	if size := 64 + 160*min(len(events), partEvents); cap(buf) < size {
		buf = make([]byte, 0, size)
	}
	w, _ := writers.Get().(*writer)
	if w == nil {
		w = &writer{}
	}
	w.buf, w.limit = buf[:0], limit
	return w, nil
}

// writers is a pool of reusable writers.
var writers sync.Pool

// free returns w to the pool.
func (w *writer) free() {
	clear(w.refs)
	clear(w.path[:cap(w.path)])
	*w = writer{path: w.path[:0], refs: w.refs[:0]}
	writers.Put(w)
}

// moreKey marks a record whose activation the next record continues.
const moreKey = `"more":true,`

// record writes events until it has written count events or size bytes, but at least one event, and
// returns the number written.
func (w *writer) record(events []event.Event, count, size int) (n int, err error) {
	first, at := events[0].Seq, events[0].At.UnixMicro()
	w.refs = w.refs[:0]
	w.buf = append(w.buf, `{"v":`...)
	w.buf = strconv.AppendInt(w.buf, RecordVersion, 10)
	w.buf = append(w.buf, `,"seq":`...)
	w.buf = strconv.AppendUint(w.buf, first, 10)
	w.buf = append(w.buf, `,"at":`...)
	w.buf = strconv.AppendInt(w.buf, at, 10)
	w.buf = append(w.buf, ',')
	head := len(w.buf)
	w.buf = append(w.buf, `"events":[`...)
	before := &event.Event{At: events[0].At}
	for i := range events {
		e := &events[i]
		if e.Seq != first+uint64(i) {
			return 0, fmt.Errorf("encode events: expected event %d, got %d", first+uint64(i), e.Seq)
		}
		if i == count || len(w.buf) > size {
			break
		}
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		w.event = i
		if err := w.stored(e, before); err != nil {
			return 0, fmt.Errorf("encode event %d: %w", e.Seq, err)
		}
		before = e
		n++
	}
	w.buf = append(w.buf, `]}`...)

	if len(w.refs) > 0 {
		w.buf = slices.Insert(w.buf, head, appendAsides(nil, w.refs)...)
	}
	if n < len(events) {
		w.buf = slices.Insert(w.buf, head, []byte(moreKey)...)
	}
	return n, nil
}

// IsContinued reports whether the next record continues the activation of the record with this
// data. It returns false for data that is not a record.
func IsContinued(data []byte) bool {
	r := &reader{data: data}
	r.preamble()
	return r.err == nil && r.has(moreKey)
}

func appendAsides(b []byte, refs []blobRef) []byte {
	b = append(b, `"aside":[`...)
	for i, r := range refs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(r.event), 10)
		b = append(b, ',')
		b, _ = jsontext.AppendString(b, r.path)
		b = append(b, `,"`...)
		b = append(b, r.hash...)
		b = append(b, `","`...)
		b = append(b, r.form...)
		b = append(b, `"]`...)
	}
	return append(b, `],`...)
}

// stored appends e in its stored form.
func (w *writer) stored(e, before *event.Event) error {
	p, v, err := dataPlan(e.Data)
	if err != nil {
		return err
	}
	w.buf = append(w.buf, '[')
	if t := e.Data.Type(); numberOf[t] > 0 {
		w.buf = strconv.AppendInt(w.buf, int64(numberOf[t]), 10)
	} else {
		w.buf = append(w.buf, '"')
		w.buf = append(w.buf, t...)
		w.buf = append(w.buf, '"')
	}
	w.buf = append(w.buf, ',')
	if passed := e.At.UnixMicro() - before.At.UnixMicro(); passed != 0 || e.Step != before.Step ||
		e.Node != before.Node {
		w.buf = strconv.AppendInt(w.buf, passed, 10)
		w.buf = append(w.buf, ',')
		if err := w.name(e.Node); err != nil {
			return err
		}
		w.buf = append(w.buf, ',')
		w.buf = strconv.AppendInt(w.buf, int64(e.Step), 10)
		w.buf = append(w.buf, ',')
	}
	if err := w.value(p, v); err != nil {
		return err
	}
	w.buf = append(w.buf, ']')
	return nil
}

// dataPlan returns the plan for d and the struct that it holds.
func dataPlan(d event.Data) (*plan, reflect.Value, error) {
	v := reflect.ValueOf(d)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, v, errors.New("event has no data")
	}
	p, err := planOf(v.Type().Elem())
	return p, v.Elem(), err
}
