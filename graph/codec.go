package graph

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/program"
)

// codec converts states to fields and back. Its results equal those of [decode], [encode] and
// [changes]; it only takes a shortcut: it handles each field separately, and compares only the Go
// values of fields that a node did not change. Types and values that it does not know take the slow
// path. It is safe for concurrent use.
type codec[S any] struct {
	fields   []member
	index    map[string]int // of fields, by JSON name
	slowPath bool           // the type always takes the slow path
	flat     bool           // a copy of the struct is a copy of the state
	scratch  sync.Pool      // *[]byte
}

// maxShared is the maximum size of values that share one block of memory, so that a small value
// does not keep a large one alive.
const maxShared = 1 << 10

// spareElements is the spare capacity of a list that earlier functions extended, so that the next
// function need not reallocate it.
const spareElements = 4

func newCodec[S any]() (c *codec[S]) {
	c = &codec[S]{scratch: sync.Pool{New: func() any { return new([]byte) }}, index: map[string]int{}}
	defer func() {
		if recover() != nil { // a type that cannot even encode its zero value reports that when a node runs
			c.fields, c.slowPath = nil, true
		}
	}()
	var ok bool
	if c.fields, ok = members(reflect.TypeFor[S](), nil); !ok {
		c.fields, c.slowPath = nil, true
		return c
	}
	c.flat = true
	for i := range c.fields {
		c.index[c.fields[i].name] = i
		c.flat = c.flat && c.fields[i].flat
	}
	return c
}

// seen is a state as a function received it.
type seen[S any] struct {
	state program.State
	base  *native[S] // nil if the state took the slow path
	// encoded holds the encodings of fields without a form, by field, nil for an omitted one; nil
	// if all fields have forms.
	encoded [][]byte
	// fields holds the encoding of the state if it took the slow path.
	fields program.Fields
}

// decode builds a state from its fields.
func (c *codec[S]) decode(state program.State) (S, error) {
	var s S
	if n := c.base(state); n != nil && c.copyState(n, state, &s, nil) {
		return s, nil
	}
	return decode[S](state.Map())
}

// read builds a state from its fields in s, which must be zero, and records in b what
// [codec.changes] needs.
func (c *codec[S]) read(state program.State, s *S, b *seen[S]) (err error) {
	b.state = state
	if b.base = c.base(state); b.base != nil && c.copyState(b.base, state, s, b) {
		return nil
	}
	b.base = nil
	if *s, err = decode[S](state.Map()); err != nil {
		return err
	}
	b.fields, err = encode(*s)
	return err
}

// copyState copies a state into s, which must be zero; n is unaffected by later changes to s.
// Fields without a form are decoded, and their encodings are stored in b, unless it is nil. It
// returns false if the slow path must be taken; s must then be discarded.
func (c *codec[S]) copyState(n *native[S], state program.State, s *S, b *seen[S]) bool {
	*s = n.value
	from, to := reflect.ValueOf(&n.value).Elem(), reflect.ValueOf(s).Elem()
	for i := range c.fields {
		switch f := &c.fields[i]; {
		case f.form == nil:
			left, ok := f.load(state, f.in(to), b != nil)
			if !ok {
				return false
			}
			if b == nil {
				continue
			}
			if b.encoded == nil {
				b.encoded = make([][]byte, len(c.fields))
			}
			b.encoded[i] = left
		case !f.flat:
			spare := 0
			if n.room(i) != nil {
				spare = spareElements
			}
			f.form.share(f.in(to), f.in(from), spare)
		}
	}
	return true
}

// load decodes a field without a form into v, which must be zero. If keep is set, it returns the
// encoding of v, nil if v is omitted.
func (f *member) load(state program.State, v reflect.Value, keep bool) (left []byte, ok bool) {
	raw := state.Get(f.name)
	if raw == nil {
		return f.zero, true
	}
	return f.read(new(reader), raw, v, keep)
}

// matchesFold reports whether JSON matches a name to that of a field case-insensitively.
func (c *codec[S]) matchesFold(name string) bool {
	return slices.ContainsFunc(c.fields, func(f member) bool { return strings.EqualFold(f.name, name) })
}

// changes returns the fields in which after differs from the state recorded in b, and after in the
// form passed to the next function.
func (c *codec[S]) changes(b *seen[S], after *S) (program.Result, error) {
	if b.base != nil {
		if out, ok := c.compare(b, after); ok {
			return out, nil
		}
	}
	fields, err := encode(*after) // which reports the error
	if err != nil {
		return program.Result{}, err
	}
	if b.base != nil {
		return program.Result{}, errors.New("encode state: a field has no JSON, the whole state has")
	}
	return program.Result{Update: changes(b.fields, fields)}, nil
}

// changed lets fn work on a state built from fields and returns its changes.
func (c *codec[S]) changed(state program.State, fn func(*S) error) (program.Fields, error) {
	s, b := new(S), seen[S]{}
	if err := c.read(state, s, &b); err != nil {
		return nil, err
	}
	if err := fn(s); err != nil {
		return nil, err
	}
	out, err := c.changes(&b, s)
	return out.Whole(state), err
}

// difference is a changed field. Its JSON is a range of a buffer; to is -1 if the field is omitted.
type difference struct {
	field, from, to int
	// grew means that the JSON is what was appended to the field.
	grew bool
}

// compare is like changes for states that have a native form. It returns false if a value has no
// JSON.
func (c *codec[S]) compare(b *seen[S], after *S) (out program.Result, ok bool) {
	pooled := c.scratch.Get().(*[]byte)
	buf := (*pooled)[:0]
	defer func() {
		if cap(buf) <= 64*maxShared {
			*pooled = buf
			c.scratch.Put(pooled)
		}
	}()
	was, is := reflect.ValueOf(&b.base.value).Elem(), reflect.ValueOf(after).Elem()
	var space [8]difference
	list := space[:0]
	for i := range c.fields {
		f := &c.fields[i]
		v, d := f.in(is), difference{field: i, from: len(buf), to: -1}
		if f.form == nil {
			if !f.isOmitted(v) {
				if buf, ok = f.write(buf, v); !ok {
					return out, false
				}
				d.to = len(buf)
			}
			if bytes.Equal(b.encoded[i], buf[d.from:]) {
				buf = buf[:d.from]
				continue
			}
			list = append(list, d)
			continue
		}
		before := f.in(was)
		if f.equal(before, v) {
			continue
		}
		if !f.isOmitted(v) {
			if b.base.isExact(i) && b.state.CanGrow(f.name) {
				buf, d.grew = f.form.appended(buf, before, v)
			}
			if !d.grew {
				if buf, ok = f.form.append(buf, v); !ok {
					return out, false
				}
			}
			d.to = len(buf)
		}
		list = append(list, d)
	}
	c.fill(&out, list, buf)
	if next := c.next(b.base, list, is); next != nil {
		out.Native = next
	}
	return out, true
}

// fill adds the changes to a result. Small values share memory.
func (c *codec[S]) fill(out *program.Result, list []difference, buf []byte) {
	shared, whole := 0, 0
	for _, d := range list {
		if d.grew {
			continue
		}
		whole++
		if n := d.to - d.from; n <= maxShared {
			shared += max(n, 0)
		}
	}
	if whole > 0 {
		out.Update = make(program.Fields, whole)
	}
	block := make([]byte, 0, shared)
	for _, d := range list {
		name := c.fields[d.field].name
		switch n := d.to - d.from; {
		case d.to < 0:
			out.Update[name] = program.Value("null")
		case d.grew:
			out.Grown = append(out.Grown, program.Tail{Field: name, Text: string(buf[d.from:d.to])})
		case n > maxShared:
			out.Update[name] = bytes.Clone(buf[d.from:d.to])
		default:
			at := len(block)
			block = append(block, buf[d.from:d.to]...)
			out.Update[name] = program.Value(block[at:len(block):len(block)])
		}
	}
}
