// Package sse reads server-sent events, for every client of such streams in Hocket: models, Hocket
// servers, and tests.
//
// It does not depend on HTTP or on the meaning of the events.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxEvent is the maximum size of one event of a stream, in bytes.
const MaxEvent = 32 << 20

// Event is one server-sent event.
type Event struct {
	// ID is the last ID in the stream, in this event or an earlier one; "" if there was none.
	ID string
	// Name is the type of the event; "" if the stream has none, which means "message".
	Name string
	// Data is valid until the next event is requested. Several data lines are joined by LF.
	Data []byte
}

// Events reads server-sent events according to the HTML standard: comments and events without data
// are skipped, lines end in LF, CRLF or CR, and a byte order mark at the start is skipped. Unlike
// in the standard, an event that is cut off by the end of the stream before its empty line is
// yielded too: some servers end like that, and whether an answer was complete can be seen from its
// content. The field retry is ignored. A line or an event of more than [MaxEvent] bytes is an
// error, as is a read error other than io.EOF; an error is the last value yielded.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := lineReader{in: bufio.NewReaderSize(r, 8<<10)}
		var e Event
		has := false // whether there is a data line
		for first := true; ; first = false {
			line, err := lines.next()
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, err)
				return
			}
			ended := err != nil
			if first {
				line = bytes.TrimPrefix(line, []byte("\uFEFF"))
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch string(field) {
			case "event":
				e.Name = string(value)
			case "id":
				if bytes.IndexByte(value, 0) < 0 {
					e.ID = string(value)
				}
			case "data":
				if has {
					e.Data = append(e.Data, '\n')
				}
				e.Data, has = append(e.Data, value...), true
				if len(e.Data) > MaxEvent {
					yield(Event{}, fmt.Errorf("an event is larger than %d bytes", MaxEvent))
					return
				}
			}
			if len(line) == 0 || ended {
				if len(e.Data) > 0 && !yield(e, nil) {
					return
				}
				e.Name, e.Data, has = "", e.Data[:0], false
			}
			if ended {
				return
			}
		}
	}
}

// lineReader reads lines that end in LF, CRLF or CR.
type lineReader struct {
	in   *bufio.Reader
	long []byte
	cr   bool // the last line ended in CR; a following LF belongs to it
}

// next returns the next line without its end; the slice is valid until the next call. At the end of
// the stream it returns the remainder with io.EOF. A line is returned as soon as its end was read,
// without waiting for the byte after a CR.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		if _, err := l.in.Peek(1); err != nil { // fills an empty buffer
			return l.long, err
		}
		buf, _ := l.in.Peek(l.in.Buffered())
		if l.cr {
			l.cr = false
			if buf[0] == '\n' {
				_, _ = l.in.Discard(1) // it is buffered
				continue
			}
		}
		i := bytes.IndexAny(buf, "\r\n")
		if i < 0 {
			l.long = append(l.long, buf...)
			_, _ = l.in.Discard(len(buf)) // it is buffered
			if len(l.long) > MaxEvent {
				return nil, fmt.Errorf("a line is longer than %d bytes", MaxEvent)
			}
			continue
		}
		l.cr = buf[i] == '\r'
		l.long = append(l.long, buf[:i]...)
		_, _ = l.in.Discard(i + 1) // it is buffered
		return l.long, nil
	}
}
