package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// events is a stream of server-sent events whose messages the SDK can read. It keeps the fields
// event, id and retry, which the SDK needs to resume the stream.
type events struct {
	io.Closer
	reader
	in    *bufio.Reader
	out   []byte
	err   error
	first bool // the next line is the first one

	// The current event.
	fields   []byte
	foreign  bool // it has a name that is not "message"
	data     []byte
	size     int64 // of the data; data is empty if this is more than maxMessageBytes
	outline  jsontext.Outline
	answered bool // there was a response to the one request that is answered
	garbage  bool // there was an object or array that is not a message
}

func newEvents(body io.ReadCloser, r reader) *events {
	return &events{Closer: body, reader: r, in: bufio.NewReaderSize(body, 32<<10), first: true}
}

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.line()
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

const maxEventFields = 64 << 10

// line reads a line and, at the end of an event, passes the event.
func (e *events) line() {
	line, err := e.in.ReadSlice('\n')
	if e.first {
		line, e.first = bytes.TrimPrefix(line, []byte("\uFEFF")), false
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	isData := string(bytes.TrimSpace(field)) == "data"
	switch name := string(field); {
	case len(bytes.TrimSpace(line)) == 0 && err == nil:
		e.pass(true)
	case isData:
		if e.size > 0 {
			e.add([]byte("\n"))
		}
		e.add(bytes.TrimRight(value, "\r\n"))
	case (name == "event" || name == "id" || name == "retry") && len(e.fields)+len(line) <= maxEventFields:
		value = bytes.TrimSpace(value)
		e.foreign = name == "event" && len(value) > 0 && string(value) != "message" || e.foreign && name != "event"
		e.fields = append(append(append(append(e.fields, name...), ": "...), value...), '\n')
	}
	for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
		line, err = e.in.ReadSlice('\n')
		if isData {
			e.add(bytes.TrimRight(line, "\r\n"))
		}
	}
	if err == nil {
		return
	}
	e.err = err
	e.pass(false)
	if errors.Is(err, io.EOF) && e.garbage && !e.answered && e.only != "" {
		e.write(refusal([]byte(e.only), unreadable(errNoMessage)))
	}
}

var errNoMessage = errors.New("it is not a message of MCP")

// add adds data to the current event.
func (e *events) add(b []byte) {
	before := e.size
	e.size += int64(len(b))
	switch {
	case e.size <= maxMessageBytes:
		e.data = append(e.data, b...)
	default:
		if before <= maxMessageBytes {
			_, _ = e.outline.Write(e.data) // it returns no error
			e.data = nil
		}
		_, _ = e.outline.Write(b)
	}
}

// pass passes the current event. ended reports whether it is whole: the stream may break off in it.
func (e *events) pass(ended bool) {
	data := e.data
	if e.size > maxMessageBytes {
		data = e.outline.Bytes()
	}
	var messages [][]byte
	if !e.foreign {
		messages = e.read(data, e.size)
		text := bytes.TrimSpace(data)
		isValue := len(text) > 0 && (text[0] == '{' || text[0] == '[') // other texts keep the stream alive
		e.garbage = e.garbage || ended && isValue && len(messages) == 0
	}
	if len(messages) == 0 && len(e.fields) > 0 {
		e.write(nil)
	}
	for _, m := range messages {
		e.write(m)
	}
	e.fields, e.foreign, e.data, e.size, e.outline = e.fields[:0], false, e.data[:0], 0, jsontext.Outline{}
}

// write writes an event with the fields of the current one, and with a message if there is one.
func (e *events) write(m []byte) {
	e.out = append(e.out, e.fields...)
	e.fields = e.fields[:0]
	if m != nil {
		e.answered = e.answered || e.only != "" && e.answer(m, 0) != nil
		e.out = append(e.out, "data: "...)
		e.out = append(e.out, bytes.ReplaceAll(m, []byte("\n"), []byte("\ndata: "))...)
		e.out = append(e.out, '\n')
	}
	e.out = append(e.out, '\n')
}
