package adapter

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxEvent bounds one event of a stream, in bytes.
const maxEvent = 32 << 20

// Event is one server-sent event.
type Event struct {
	Name string
	// Data is valid until the next event is asked for.
	Data []byte
}

// Events reads server-sent events as the HTML standard says: comments and events without data are passed over, lines may end in LF or
// CRLF, several data lines are joined by LF. Unlike the standard, and unlike the SDKs, an event that is cut off by the end of the stream
// before its empty line is told too: whether the answer was complete is seen by its content, and some servers end that way.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewReaderSize(r, 8<<10)
		var name string
		var data []byte
		has := false
		for {
			line, err := readLine(lines)
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Event{}, err)
				return
			}
			ended := err != nil
			if len(line) > 0 && line[0] != ':' {
				field, value, _ := bytes.Cut(line, []byte(":"))
				value = bytes.TrimPrefix(value, []byte(" "))
				switch string(field) {
				case "event":
					name = string(value)
				case "data":
					if has {
						data = append(data, '\n')
					}
					data, has = append(data, value...), true
					if len(data) > maxEvent {
						yield(Event{}, fmt.Errorf("an event is larger than %d bytes", maxEvent))
						return
					}
				}
			}
			if len(line) == 0 || ended {
				if has && len(data) > 0 && !yield(Event{Name: name, Data: data}, nil) {
					return
				}
				name, data, has = "", data[:0], false
			}
			if ended {
				return
			}
		}
	}
}

// readLine gives the next line without its end; the slice is valid until the next call. At the end of the stream what is left comes with
// io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(long) > maxEvent {
				return nil, fmt.Errorf("a line is longer than %d bytes", maxEvent)
			}
			line, err = r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	return bytes.TrimRight(line, "\r\n"), err
}
