package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// stdioTransport returns the transport of a client on two streams, whose messages have at most
// limit bytes. The SDK would end the session, and with it the process that drives the runs, at the
// first line that is not a message; here such a line is answered with an error, as JSON-RPC
// requires, and the session continues.
func stdioTransport(in io.ReadCloser, out io.WriteCloser, limit int) sdk.Transport {
	w := &messageWriter{WriteCloser: out}
	r := requestReader{limit: limit, reply: func(m []byte) { _, _ = w.Write(m) }} // the SDK notices a lost client
	return &sdk.IOTransport{
		Reader: jsontext.Messages(in, jsontext.Filter{Max: limit, OneLine: true, Message: r.message, Line: r.line}),
		Writer: w, MaxLineLength: -1, // the filter limits messages
	}
}

// messageWriter is a writer for several goroutines: each call of Write writes whole messages.
type messageWriter struct {
	io.WriteCloser
	mu sync.Mutex
}

// Write implements io.Writer.
func (w *messageWriter) Write(m []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(m)
}

// requestReader answers what is not a message of the protocol.
type requestReader struct {
	limit int
	reply func(m []byte)
}

// message returns the messages in m, an object or a batch, each on a line, and answers the others.
// If size is greater than the limit, m is an outline.
func (r requestReader) message(m []byte, size int64) []byte {
	batch := []json.RawMessage{m}
	if m[0] == '[' {
		if err := json.Unmarshal(m, &batch); err != nil {
			r.line(string(m))
			return nil
		}
	}
	var out [][]byte
	for _, one := range batch {
		if r.check(one, size) {
			out = append(out, one)
		}
	}
	return bytes.Join(out, []byte("\n"))
}

// line answers a line that holds neither an object nor a batch of objects.
func (r requestReader) line(text string) {
	var values []json.RawMessage
	switch {
	case !json.Valid([]byte(text)):
		r.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON; a message is one JSON object on one line")
	case json.Unmarshal([]byte(text), &values) == nil && len(values) > 0:
		for range values {
			r.refuse(nil, jsonrpc.CodeInvalidRequest, "a message is an object")
		}
	default:
		r.refuse(nil, jsonrpc.CodeInvalidRequest, "a message is an object, or an array of objects")
	}
}

// check reports whether m is a message, and otherwise answers it.
func (r requestReader) check(m []byte, size int64) bool {
	if !json.Valid(m) {
		r.line(string(m))
		return false
	}
	var e struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(m, &e) != nil {
		r.line(string(m))
		return false
	}
	id := e.ID
	if len(id) > 0 && strings.IndexByte(`"-0123456789`, id[0]) < 0 {
		id = nil
	}
	answerTo := id
	if e.Method == nil { // a response: the client would take an error with its id as one to its own request
		answerTo = nil
	}
	_, err := jsonrpc.DecodeMessage(m)
	switch {
	case size > int64(r.limit):
		err = fmt.Errorf("the message has %d bytes, more than the limit of %d", size, r.limit)
	case err != nil && e.Method == nil && id == nil:
		err = fmt.Errorf("a message has a method, or an id and a result or an error: %w", err)
	case err == nil && e.Method == nil && e.Result == nil && e.Error == nil:
		err = errors.New("a message has a method, a result or an error")
	case err == nil && e.Method != nil && e.ID != nil && id == nil &&
		!bytes.HasPrefix(e.Method, []byte(`"notifications/`)):
		err = errors.New("the id of a request is a text or a number")
	}
	if err != nil {
		r.refuse(answerTo, jsonrpc.CodeInvalidRequest, err.Error())
	}
	return err == nil
}

// refuse answers with an error. A nil id stands for that of a request which has none that is known.
func (r requestReader) refuse(id json.RawMessage, code int64, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	m, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, //nolint:errchkjson // texts cannot fail
		"error": &jsonrpc.Error{Code: code, Message: message}})
	r.reply(append(m, '\n'))
}
