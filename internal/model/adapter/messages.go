package adapter

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Writer writes the messages of one conversation in the form of a protocol.
type Writer interface {
	// Add writes m after the previous messages, starting with the separator between them.
	Add(p *Parts, m *chat.Message)
	// End returns what closes the last message.
	End() string
}

// conversation is the state kept in a model.Memo: the messages already written, and their JSON.
type conversation struct {
	form     string
	messages []chat.Message
	parts    *Parts
	writer   Writer
}

// List is the list of messages in a request. It is immutable.
type List struct {
	front, messages, end body
}

// Messages writes a conversation, or the part of it that is new since the last call with this memo,
// which may be nil. form identifies everything else on which the JSON depends: the protocol, and
// what the server and the model require. front is the JSON before the messages, including the
// separator; it is written again each time. begin returns a Writer of the protocol and empty Parts
// for it.
//
// It returns an error if an argument of a tool call or an Extra is not JSON.
func Messages(memo *model.Memo, form string, front *Parts, messages []chat.Message,
	begin func() (Writer, *Parts)) (*List, error) {
	c, ok := memo.Take().(*conversation)
	if !ok || c.form != form || !extends(messages, c.messages) {
		c = &conversation{form: form}
		c.writer, c.parts = begin()
	}
	for i := len(c.messages); i < len(messages); i++ {
		c.writer.Add(c.parts, &messages[i])
	}
	if err := errors.Join(front.err, c.parts.err); err != nil {
		return nil, err
	}
	c.messages = slices.Clip(messages)
	end := NewParts(false)
	end.Raw(c.writer.End())
	list := &List{front.body(), c.parts.body(), end.body()}
	memo.Keep(c)
	return list, nil
}

// extends reports whether a conversation starts with the messages of former. Shared strings are not
// compared byte by byte.
func extends(messages, former []chat.Message) bool {
	return len(messages) >= len(former) && slices.EqualFunc(messages[:len(former)], former,
		func(a, b chat.Message) bool {
			return a.Role == b.Role && a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName &&
				a.IsError == b.IsError &&
				a.Text.Equal(b.Text) &&
				bytes.Equal(a.Extra, b.Extra) && slices.EqualFunc(a.ToolCalls, b.ToolCalls,
				func(a, b chat.ToolCall) bool {
					return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Arguments, b.Arguments) &&
						bytes.Equal(a.Extra, b.Extra)
				})
		})
}

// size returns the length of the JSON in bytes.
func (l *List) size() int64 { return l.front.size + l.messages.size + l.end.size }

// Bytes returns the JSON of the list.
func (l *List) Bytes() ([]byte, error) {
	b := make([]byte, l.size())
	_, err := io.ReadFull(&reader{rest: []body{l.front, l.messages, l.end}}, b)
	return b, err
}

// Field returns the value that an SDK must write into the request field that holds the messages:
// the placeholder of [Exchange.Splice], or the list itself if an option changes something in it.
// options are set in the request afterwards, by dotted paths.
func (x *Exchange) Field(name string, l *List, options map[string]json.RawMessage) (any, error) {
	for path := range options {
		// the name may be spelled with backslashes
		if strings.HasPrefix(strings.TrimPrefix(path, ":"), name+".") || strings.Contains(path, `\`) {
			raw, err := l.Bytes()
			return json.RawMessage(raw), err
		}
	}
	return x.Splice(l), nil
}

// Splice makes requests of the exchange carry a list in place of the JSON string that it returns.
// An SDK then writes the entire request except its messages, which are streamed. A request without
// the placeholder is sent unchanged. Splice must be called before the request is made.
func (x *Exchange) Splice(l *List) (placeholder string) {
	x.list, x.mark = l, "messages-"+rand.Text()
	return x.mark
}

// spliced returns the request with the list in place of the placeholder.
func (x *Exchange) spliced(req *http.Request) (*http.Request, error) {
	if x.list == nil || req.Body == nil {
		return req, nil
	}
	defer req.Body.Close()
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(raw, []byte(`"`+x.mark+`"`))
	bodies := []body{bodyOf(before)}
	size := int64(len(raw))
	if found {
		bodies = []body{bodyOf(before), x.list.front, x.list.messages, x.list.end, bodyOf(after)}
		size = int64(len(before)) + x.list.size() + int64(len(after))
	}
	with := *req
	with.ContentLength = size
	with.GetBody = func() (io.ReadCloser, error) { return newBody(bodies, size), nil }
	with.Body, _ = with.GetBody() // it never fails
	return &with, nil
}

func bodyOf(raw []byte) body {
	return body{list: []part{{string(raw), len(raw)}}, size: int64(len(raw))}
}
