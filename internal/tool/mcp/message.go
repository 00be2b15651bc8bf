package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// Limits on a message of a server: a small text can hold many parts, each of which costs work.
const (
	maxMessageBytes = 16 << 20
	maxBatch        = 1000   // messages in a batch
	maxBlocks       = 10_000 // content blocks that have to be made readable
)

const methodCall = "tools/call"

// envelope is a JSON-RPC message without its parameters.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  json.RawMessage `json:"method,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// hasID reports whether the message has an id that the protocol allows: a text or a number.
func (e *envelope) hasID() bool {
	return len(e.ID) > 0 && strings.IndexByte(`"-0123456789`, e.ID[0]) >= 0
}

// answers reports whether the message is the response to the request with an id, as encoded.
func (e *envelope) answers(id string) bool {
	text, _ := jsontext.Unquote(e.ID)
	return e.Method == nil && id != "" && (string(e.ID) == id || text == id)
}

// reader makes the messages of a server readable for the SDK, which would end the connection at
// the first one that it cannot read.
type reader struct {
	// isCall reports whether the request with an id, as encoded, is a call of a tool.
	isCall func(id string) bool
	// only is the id, as encoded, of the one request that is answered; "" if there may be several.
	only string
}

// read returns the messages that m, a message or a batch, holds, each in a form that the SDK reads.
// A response that cannot be read becomes an error response to the same request. What is not a
// message is left out. If size is greater than maxMessageBytes, m is an outline.
func (r reader) read(m []byte, size int64) [][]byte {
	var out [][]byte
	for _, one := range r.batch(m) {
		if text := r.one(one, size); text != nil {
			out = append(out, text)
		}
	}
	return out
}

// batch returns the messages that m, a message or a batch, holds. A batch that is too large is
// replaced by error responses to the calls that it may answer.
func (r reader) batch(m []byte) []json.RawMessage {
	if m = bytes.TrimSpace(bytes.TrimPrefix(m, []byte("\uFEFF"))); len(m) == 0 || m[0] != '[' {
		return []json.RawMessage{m}
	}
	var all []json.RawMessage
	if json.Unmarshal(m, &all) != nil || len(all) <= maxBatch {
		return all
	}
	why := fmt.Sprintf("its answer is in a batch of %d messages, more than the limit of %d", len(all), maxBatch)
	if r.only != "" {
		return []json.RawMessage{refusal(json.RawMessage(r.only), why)}
	}
	var calls []struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(m, &calls) // what is no object has no id
	refusals := map[string]json.RawMessage{}
	for _, c := range calls {
		if id := string(c.ID); refusals[id] == nil && r.isCall(id) {
			refusals[id] = refusal(c.ID, why)
		}
	}
	return slices.Collect(maps.Values(refusals))
}

func (r reader) one(m []byte, size int64) []byte {
	var e envelope
	if json.Unmarshal(m, &e) != nil || e.Version == nil {
		return nil
	}
	changed := string(e.Method) == "null"
	if changed {
		e.Method = nil
	}
	if string(e.Error) == "null" {
		e.Error = nil
	}
	if id, ok := r.answered(&e); ok && id != string(e.ID) {
		e.ID, changed = json.RawMessage(id), true
	}
	isResponse := e.Method == nil && e.hasID()
	switch {
	case size > maxMessageBytes && isResponse:
		return refusal(e.ID, fmt.Sprintf("its answer has %d bytes, more than the limit of %d; ask it for less", size,
			maxMessageBytes))
	case size > maxMessageBytes && !e.hasID():
		return nil
	case isResponse && e.Error == nil && e.Result == nil:
		return refusal(e.ID, "its answer has neither a result nor an error")
	case isResponse && e.Error == nil && r.isCall(string(e.ID)):
		result, err := readableResult(e.Result)
		if err != nil {
			return refusal(e.ID, unreadable(err))
		}
		if &result[0] != &e.Result[0] {
			e.Result, changed = result, true
		}
	}
	if changed {
		m, _ = json.Marshal(e) //nolint:errchkjson // its parts were valid
	}
	_, err := jsonrpc.DecodeMessage(m)
	switch {
	case err == nil:
		return m
	case isResponse && e.Error != nil:
		return refusal(e.ID, wordsOf(e.Error))
	case isResponse:
		return refusal(e.ID, unreadable(err))
	}
	return nil
}

// answered returns the id of the request that a response answers, if only one can be: some servers
// send errors with no id or with one of their own, or the id as a string.
func (r reader) answered(e *envelope) (id string, ok bool) {
	if r.only == "" || e.Method != nil {
		return "", false
	}
	text, isText := jsontext.Unquote(e.ID)
	return r.only, e.Error != nil || isText && text == r.only
}

// answer returns the response in m to the one request that is answered; nil if there is none.
func (r reader) answer(m []byte, size int64) []byte {
	for _, one := range r.batch(m) {
		var e envelope
		text := r.one(one, size)
		if text != nil && json.Unmarshal(text, &e) == nil && e.Method == nil && string(e.ID) == r.only {
			return text
		}
	}
	return nil
}

func unreadable(err error) string { return "its answer cannot be read: " + err.Error() }

// refusal returns an error response.
func refusal(id json.RawMessage, message string) []byte {
	e := jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
	text, _ := json.Marshal(e)                                                             //nolint:errchkjson // a text
	m, _ := json.Marshal(envelope{Version: json.RawMessage(`"2.0"`), ID: id, Error: text}) //nolint:errchkjson // valid
	return m
}

// maxWords is the number of bytes of a server's own words that an error quotes.
const maxWords = 500

// wordsOf returns what an error of a server says, whatever its form.
func wordsOf(text json.RawMessage) string {
	var e struct {
		Message string `json:"message"`
		Error   string `json:"error"`
	}
	if s, ok := jsontext.Unquote(text); ok {
		return shorten(s)
	}
	if json.Unmarshal(text, &e) == nil && e.Message+e.Error != "" {
		return shorten(e.Message + e.Error)
	}
	return shorten(string(text))
}

func shorten(text string) string {
	if text = strings.TrimSpace(text); len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + "…"
	}
	return text
}

// readableResult returns a tool's result in a form that the SDK reads. It returns result itself if
// that has one. In other results, content that cannot be read is replaced by a text that names it,
// and isError may be a text or a number.
func readableResult(result json.RawMessage) (json.RawMessage, error) {
	first := json.Unmarshal(result, new(sdk.CallToolResult))
	if first == nil {
		return result, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(result, &fields); err != nil {
		return nil, errors.New("its result is not an object")
	}
	if content, ok := fields["content"]; ok {
		var blocks []json.RawMessage
		if json.Unmarshal(content, &blocks) != nil {
			blocks = []json.RawMessage{content}
		}
		if len(blocks) > maxBlocks {
			return nil, fmt.Errorf("it has %d content blocks, more than the limit of %d", len(blocks), maxBlocks)
		}
		for i, b := range blocks {
			blocks[i] = readableBlock(b)
		}
		fields["content"], _ = json.Marshal(blocks) //nolint:errchkjson // its parts are valid
	}
	if failed, ok := fields["isError"]; ok {
		text := strings.Trim(string(failed), `"`)
		isError, _ := strconv.ParseBool(text) // anything else is not a failure, such as null
		fields["isError"] = strconv.AppendBool(nil, isError)
	}
	out, err := json.Marshal(fields)
	if err == nil && json.Unmarshal(out, new(sdk.CallToolResult)) != nil {
		err = first
	}
	return out, err
}

// readableBlock returns a content block that the SDK reads: b itself if possible.
func readableBlock(b json.RawMessage) json.RawMessage {
	var result sdk.CallToolResult
	if json.Unmarshal(append(append([]byte(`{"content":[`), b...), "]}"...), &result) == nil {
		return b
	}
	text, isText := jsontext.Unquote(b)
	if !isText {
		var block struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(b, &block) // no type is known then
		text = note(shorten(strings.TrimSpace(block.Type+" content")), "cannot be read", size(len(b)))
	}
	out, _ := json.Marshal(map[string]string{"type": "text", "text": text}) //nolint:errchkjson // texts cannot fail
	return out
}
