package journal

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
)

// Decode returns the events that were passed to Encode. blob returns the data of the blob with that
// hash; it is called only for values stored as blobs. The events keep no reference to data. A nil
// Value inside a map is restored as null.
//
// Decode returns a *NewerError for a record of a later version, and a *CorruptError, without Run,
// for anything else that Encode cannot have written, including an unknown event type or field and a
// blob that is missing (ErrNotFound) or has different content (P17). Any other error of blob is
// returned wrapped. On error no events are returned.
func Decode(data []byte, blob func(hash string) ([]byte, error)) ([]event.Event, error) {
	events, refs, err := decode(data)
	if err != nil {
		return nil, err
	}
	if err := restore(events, refs, blob, nil); err != nil {
		return nil, err
	}
	return events, nil
}

// decode returns the events of a record without the values stored as blobs, and the positions of
// those values.
func decode(data []byte) ([]event.Event, []blobRef, error) {
	r := &reader{data: data}
	version, seq, at := r.preamble()
	if version > RecordVersion {
		return nil, nil, &NewerError{What: "record", Have: RecordVersion, Found: int(version)}
	}
	r.has(moreKey)
	refs := r.asides()
	r.expect(`"events":[`)
	var events []event.Event
	before := event.Event{At: time.UnixMicro(at).UTC()}
	for r.err == nil {
		e := event.Event{Seq: seq + uint64(len(events)), At: before.At, Node: before.Node, Step: before.Step}
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

// preamble reads what precedes the references to blobs. If the version is unknown it reads only
// the version.
func (r *reader) preamble() (version int64, seq uint64, at int64) {
	r.expect(`{"v":`)
	if version = r.int(); r.err == nil && version != RecordVersion {
		if version > 0 {
			r.fail(
				fmt.Sprintf("record has format version %d, of a build of Hocket before the first release, which is "+
					"not read any more", version))
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

// stored reads one event. On entry e has the time, node and step of the previous event.
func (r *reader) stored(e, before *event.Event) {
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

// eventType reads the type of an event: a number, or the name of a type without a number.
func (r *reader) eventType() event.Type {
	if r.err == nil && r.pos < len(r.data) && r.data[r.pos] != '"' {
		switch n := r.int(); {
		case r.err != nil:
			return ""
		case n < 1 || n >= int64(len(typeNumbers)):
			r.fail(fmt.Sprintf("unknown event type %d", n))
			return ""
		default:
			return typeNumbers[n]
		}
	}
	t := event.Type(r.string())
	if numberOf[t] > 0 {
		r.fail(fmt.Sprintf("event type %q has a number", t))
	}
	return t
}

func (r *reader) asides() []blobRef {
	if !r.has(`"aside":[`) {
		return nil
	}
	var refs []blobRef
	for r.err == nil {
		r.expect(`[`)
		ref := blobRef{event: int(r.int())}
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

// restore puts the values stored as blobs back in their positions. If stored is not nil, it returns
// a placeholder for a long string that is not read.
func restore(events []event.Event, refs []blobRef, blob func(string) ([]byte, error),
	stored func(hash string) (text.Text, error)) error {
	seen := map[string][]byte{}
	for _, ref := range refs {
		if ref.event < 0 || ref.event >= len(events) {
			return &CorruptError{Seq: events[0].Seq, Reason: "out-of-line value belongs to no event"}
		}
		e := &events[ref.event]
		if _, err := ParseHash(ref.hash); err != nil {
			return &CorruptError{Seq: e.Seq, Reason: "out-of-line value has no hash"}
		}
		var unread error
		p, v, err := dataPlan(e.Data)
		if err == nil {
			err = p.restore(v, ref, func(p *plan, v reflect.Value) error {
				if stored != nil && p.op == opRope && ref.form == asideText && textValue(v).IsZero() {
					var t text.Text
					t, unread = stored(ref.hash)
					v.Set(reflect.ValueOf(t))
					return unread
				}
				data, ok := seen[ref.hash]
				if !ok {
					if data, unread = blob(ref.hash); unread != nil {
						return unread
					}
					if HashOf(data) != ref.hash {
						return errors.New("it has different content: " + ref.hash)
					}
					seen[ref.hash] = data
				}
				return p.fill(v, ref.form, data)
			})
		}
		switch {
		case errors.Is(unread, ErrNotFound):
			return &CorruptError{Seq: e.Seq, Reason: "out-of-line value is missing: " + ref.hash}
		case unread != nil:
			return fmt.Errorf("read value %s of event %d: %w", ref.hash, e.Seq, unread)
		case err != nil:
			return &CorruptError{Seq: e.Seq, Reason: fmt.Sprintf("out-of-line value at %q: %v", ref.path, err)}
		}
	}
	return nil
}
