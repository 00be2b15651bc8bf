package journal

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// AsideBytes is the size beyond which a text or a value does not stand in a record but beside it, as a blob (D2).
const AsideBytes = 32 << 10

// An activation with more than partEvents events, or with more than about partBytes of data, is stored as several records of one transaction, so that no reader holds
// more of it at once.
const (
	partEvents = 500
	partBytes  = 256 << 10
)

// The stored form of one activation, or of a part of it, version 2. Nothing but what stands here is accepted, white space neither:
//
//	{"v":2,"seq":17,"at":1767225600000000,"more":true,"aside":[[0,"/output","<hash>","text"]],"events":[[7,0,"writer",4,{…}],[8,{…}],…]}
//
// seq is the number of the first event, the others follow without gaps; at is µs since 1970. more stands where the next record goes on with the same activation. An
// event is its type (the number of typeNumbers, or the name), the µs since the event before it, node, step, and data with the field names of package engine. Time, node
// and step are left out where all three are as in the event before; before the first is an event at at, of no node and step 0.
//
// Values put aside are named out of band, by index of the event, JSON pointer into its data, hash, and what the blob holds: `json` a
// value's JSON, `text` a text, or the text of a value that is a JSON string. In their own place stands "" for a text and null for a value.
// Nothing in data is ever looked at for such names, so that no data of users can be taken for ours (SEC6).
const (
	asideJSON = "json"
	asideText = "text"
)

// EncodeParts gives the records of the events of one activation, and the blobs that they name: one record, and more of them where the events are many. Equal events give
// equal records. buf, which may be nil, is used for the data of the first record where it has room. Otherwise it is as Encode.
func EncodeParts(buf []byte, events []engine.Event) (first Record, more []Record, blobs []Blob, err error) {
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

// Encode gives Record.Data for the events of one activation as one record, and the blobs that it names. Equal events give equal bytes.
//
// Texts and values over AsideBytes are put aside, and so is every text that is not UTF-8, which JSON cannot hold: each comes back byte for
// byte. Times are cut to µs, UTC. Encode keeps no reference to events, but a blob may share the bytes of a value.
//
// Errors: events that are none, are not numbered in a row from 1 on, or hold a Value that is not JSON; these are defects of the caller.
func Encode(events []engine.Event) (data []byte, blobs []Blob, err error) {
	return encode(events, AsideBytes)
}

// encode is Encode with another limit than AsideBytes.
func encode(events []engine.Event, limit int) (data []byte, blobs []Blob, err error) {
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

// newWriter gives a writer for events. It writes the first record into buf where that has room.
func newWriter(buf []byte, events []engine.Event, limit int) (*writer, error) {
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

// writers holds writers to be used again.
var writers sync.Pool

// free ends the use of w.
func (w *writer) free() {
	clear(w.refs)
	clear(w.path[:cap(w.path)])
	*w = writer{path: w.path[:0], refs: w.refs[:0]}
	writers.Put(w)
}

// moreKey stands in a record after which the next one goes on with the same activation.
const moreKey = `"more":true,`

// record writes events until there are count or they have size bytes, at least one, and tells how many it wrote.
func (w *writer) record(events []engine.Event, count, size int) (n int, err error) {
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
	before := &engine.Event{At: events[0].At}
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

// IsContinued tells whether the next record goes on with the activation of a record with this data. Of data that is no record it is false.
func IsContinued(data []byte) bool {
	r := &reader{data: data}
	r.beginning()
	return r.err == nil && r.has(moreKey)
}

func appendAsides(b []byte, refs []asideRef) []byte {
	b = append(b, `"aside":[`...)
	for i, r := range refs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendInt(b, int64(r.event), 10)
		b = append(b, ',')
		b, _ = appendString(b, r.path)
		b = append(b, `,"`...)
		b = append(b, r.hash...)
		b = append(b, `","`...)
		b = append(b, r.form...)
		b = append(b, `"]`...)
	}
	return append(b, `],`...)
}

// stored appends e in its stored form.
func (w *writer) stored(e, before *engine.Event) error {
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
	if passed := e.At.UnixMicro() - before.At.UnixMicro(); passed != 0 || e.Step != before.Step || e.Node != before.Node {
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

// dataPlan gives the plan and the struct behind d.
func dataPlan(d engine.Data) (*plan, reflect.Value, error) {
	v := reflect.ValueOf(d)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, v, errors.New("event has no data")
	}
	p, err := planOf(v.Type().Elem())
	return p, v.Elem(), err
}

// Decode gives the events that Encode was given. blob gives the data of the blob with that hash; it is asked only for values put aside.
// The events keep no reference to data. A nil Value inside a map comes back as null.
//
// Errors: *NewerError for a record of a later version; *CorruptError, without Run, for everything else that Encode cannot have written, an
// unknown event type or field and a blob that is missing (ErrNotFound) or of other content among it (P17); what else blob returns, wrapped. No events
// are given beside an error.
func Decode(data []byte, blob func(hash string) ([]byte, error)) ([]engine.Event, error) {
	events, refs, err := decode(data)
	if err != nil {
		return nil, err
	}
	if err := restore(events, refs, blob); err != nil {
		return nil, err
	}
	return events, nil
}

// decode gives the events of a record without the values aside, and where those belong.
func decode(data []byte) ([]engine.Event, []asideRef, error) {
	r := &reader{data: data}
	version, seq, at := r.beginning()
	if version > RecordVersion {
		return nil, nil, &NewerError{What: "record", Have: RecordVersion, Found: int(version)}
	}
	r.has(moreKey)
	refs := r.asides()
	r.expect(`"events":[`)
	var events []engine.Event
	before := engine.Event{At: time.UnixMicro(at).UTC()}
	for r.err == nil {
		e := engine.Event{Seq: seq + uint64(len(events)), At: before.At, Node: before.Node, Step: before.Step}
		r.stored(&e, &before)
		if r.err != nil {
			return nil, nil, r.corrupt(e.Seq)
		}
		events, before = append(events, e), e
		if !r.next(',') {
			break
		}
	}
	r.expect(`]}`)
	if r.err == nil && r.pos != len(r.data) {
		r.fail("unexpected data after the end")
	}
	if r.err != nil {
		return nil, nil, r.corrupt(seq)
	}
	return events, refs, nil
}

// beginning reads what stands before the values aside. Of a version that is not known it reads no more than the version.
func (r *reader) beginning() (version int64, seq uint64, at int64) {
	r.expect(`{"v":`)
	if version = r.int(); r.err == nil && version != RecordVersion {
		if version > 0 {
			r.fail(fmt.Sprintf("record has format version %d, of a build of Hocket before the first release, which is not read any more", version))
		}
		r.fail("record has no version")
		return version, 0, 0
	}
	r.expect(`,"seq":`)
	if seq = r.uint(); r.err == nil && seq == 0 {
		r.fail("event has no number")
	}
	r.expect(`,"at":`)
	at = r.int()
	r.expect(`,`)
	return version, seq, at
}

// stored reads one event. e has time, node and step of the event before it.
func (r *reader) stored(e, before *engine.Event) {
	r.expect(`[`)
	t := r.eventType()
	r.expect(`,`)
	if r.err == nil && r.pos < len(r.data) && r.data[r.pos] != '{' {
		passed := r.int()
		r.expect(`,`)
		e.Node = r.string()
		r.expect(`,`)
		e.Step = int(r.int())
		r.expect(`,`)
		if passed == 0 && e.Node == before.Node && e.Step == before.Step {
			r.fail("time, node and step are those of the event before")
		}
		e.At = time.UnixMicro(before.At.UnixMicro() + passed).UTC()
	}
	if r.err != nil {
		return
	}
	d, ok := engine.NewData(t)
	if !ok {
		r.fail(fmt.Sprintf("unknown event type %q", t))
		return
	}
	p, v, err := dataPlan(d)
	if err != nil {
		r.fail(err.Error())
		return
	}
	r.value(p, v)
	r.expect(`]`)
	e.Data = d
}

// eventType reads the type of an event: a number, or the name of a type that has none.
func (r *reader) eventType() engine.Type {
	if r.err == nil && r.pos < len(r.data) && r.data[r.pos] != '"' {
		n := r.int()
		if r.err == nil && (n < 1 || n >= int64(len(typeNumbers))) {
			r.fail(fmt.Sprintf("unknown event type %d", n))
			return ""
		}
		return typeNumbers[max(0, n)]
	}
	t := engine.Type(r.string())
	if numberOf[t] > 0 {
		r.fail(fmt.Sprintf("event type %q has a number", t))
	}
	return t
}

func (r *reader) asides() []asideRef {
	if !r.has(`"aside":[`) {
		return nil
	}
	var refs []asideRef
	for r.err == nil {
		r.expect(`[`)
		ref := asideRef{event: int(r.int())}
		r.expect(`,`)
		ref.path = r.string()
		r.expect(`,`)
		ref.hash = r.string()
		r.expect(`,`)
		ref.form = r.string()
		r.expect(`]`)
		refs = append(refs, ref)
		if !r.next(',') {
			break
		}
	}
	r.expect(`],`)
	return refs
}

// restore puts the values that stand aside in their places.
func restore(events []engine.Event, refs []asideRef, blob func(string) ([]byte, error)) error {
	seen := map[string][]byte{}
	for _, ref := range refs {
		if ref.event < 0 || ref.event >= len(events) {
			return &CorruptError{Seq: events[0].Seq, Reason: "out-of-line value belongs to no event"}
		}
		e := &events[ref.event]
		if _, err := ParseHash(ref.hash); err != nil {
			return &CorruptError{Seq: e.Seq, Reason: "out-of-line value has no hash"}
		}
		data, ok := seen[ref.hash]
		if !ok {
			var err error
			switch data, err = blob(ref.hash); {
			case errors.Is(err, ErrNotFound):
				return &CorruptError{Seq: e.Seq, Reason: "out-of-line value is missing: " + ref.hash}
			case err != nil:
				return fmt.Errorf("read value %s of event %d: %w", ref.hash, e.Seq, err)
			}
			if HashOf(data) != ref.hash {
				return &CorruptError{Seq: e.Seq, Reason: "out-of-line value has different content: " + ref.hash}
			}
			seen[ref.hash] = data
		}
		p, v, err := dataPlan(e.Data)
		if err == nil {
			err = p.restore(v, ref, data)
		}
		if err != nil {
			return &CorruptError{Seq: e.Seq, Reason: fmt.Sprintf("out-of-line value at %q: %v", ref.path, err)}
		}
	}
	return nil
}
