package graph

import (
	"bytes"
	"reflect"
	"time"
)

// timeForm is the form of time.Time.
type timeForm struct {
	noSharing
	notAppendable
}

var timeType = reflect.TypeFor[time.Time]()

func timeIn(v reflect.Value) *time.Time { return v.Addr().Interface().(*time.Time) }

func (timeForm) append(b []byte, v reflect.Value) ([]byte, bool) {
	out, err := timeIn(v).AppendText(append(b, '"'))
	if err != nil {
		return b, false
	}
	return append(out, '"'), true
}

func (f timeForm) read(r *reader, v reflect.Value) bool {
	if r.null(false) {
		return true
	}
	if !r.take('"') {
		return false
	}
	n := bytes.IndexByte(r.b[r.i:], '"')
	if n < 0 {
		return false
	}
	quoted := r.b[r.i-1 : r.i+n+1]
	if timeIn(v).UnmarshalJSON(quoted) != nil {
		return false
	}
	r.i += n + 1
	var space [64]byte
	if b, ok := f.append(space[:0], v); !ok || !bytes.Equal(b, quoted) {
		r.canon = false
	}
	return true
}

func (f timeForm) equal(a, b reflect.Value) bool {
	if x, y := timeIn(a), timeIn(b); x.Equal(*y) && x.Location() == y.Location() {
		return true
	}
	var spaceA, spaceB [64]byte
	x, okA := f.append(spaceA[:0], a)
	y, okB := f.append(spaceB[:0], b)
	return okA && okB && bytes.Equal(x, y)
}

// take decodes the encoding, which has neither a monotonic clock nor a location name.
func (timeForm) take(to, from, _ reflect.Value) bool {
	t := timeIn(from)
	var space [64]byte
	b, err := t.AppendText(space[:0])
	return err == nil && timeIn(to).UnmarshalText(b) == nil && timeIn(to).IsZero() == t.IsZero()
}
