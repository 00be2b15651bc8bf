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

// Writer writes the messages of one conversation as a protocol has them.
type Writer interface {
	// Add writes m behind the messages before it. It begins with what separates the two.
	Add(p *Parts, m *chat.Message)
	// End is what closes the last message.
	End() string
}

// conversation is what is kept in a model.Memo: the messages that were written, and what was written.
type conversation struct {
	protocol model.Protocol
	messages []chat.Message
	parts    *Parts
	writer   Writer
}

// List is the list of messages in a request. It is immutable.
type List struct {
	front, messages, end body
}

// Messages writes a conversation, or what is new in it since the last call with this memo, which may be nil. front is JSON in front of the messages, and what is between them and front;
// it is written anew each time. begin makes a Writer of the protocol and empty Parts for it.
//
// Errors: an argument of a tool call or an Extra is not JSON.
func Messages(memo *model.Memo, protocol model.Protocol, front *Parts, messages []chat.Message, begin func() (Writer, *Parts)) (*List, error) {
	c, ok := memo.Take().(*conversation)
	if !ok || c.protocol != protocol || !extends(messages, c.messages) {
		c = &conversation{protocol: protocol}
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

// extends tells whether a conversation begins with the messages of former. Texts that are shared are not compared byte by byte.
func extends(messages, former []chat.Message) bool {
	return len(messages) >= len(former) && slices.EqualFunc(messages[:len(former)], former, func(a, b chat.Message) bool {
		return a.Role == b.Role && a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName && a.IsError == b.IsError && a.Text.Equal(b.Text) &&
			bytes.Equal(a.Extra, b.Extra) && slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(a, b chat.ToolCall) bool {
			return a.ID == b.ID && a.Name == b.Name && bytes.Equal(a.Arguments, b.Arguments) && bytes.Equal(a.Extra, b.Extra)
		})
	})
}

// size is the length of the JSON in bytes.
func (l *List) size() int64 { return l.front.size + l.messages.size + l.end.size }

// Bytes gives the JSON of the list.
func (l *List) Bytes() ([]byte, error) {
	b := make([]byte, l.size())
	_, err := io.ReadFull(&reader{rest: []body{l.front, l.messages, l.end}}, b)
	return b, err
}

// Field gives the value that an SDK is to write into the field of a request that holds the messages: that of [Exchange.Splice], or the list itself where an option
// changes something in it. options are set in the request after it, by dotted paths.
func (x *Exchange) Field(name string, l *List, options map[string]json.RawMessage) (any, error) {
	for path := range options {
		if strings.HasPrefix(strings.TrimPrefix(path, ":"), name+".") || strings.Contains(path, `\`) { // a backslash may spell the name otherwise
			raw, err := l.Bytes()
			return json.RawMessage(raw), err
		}
	}
	return x.Splice(l), nil
}

// Splice makes requests of the exchange carry a list in the place of the JSON string that it gives. An SDK then writes all of a request but its messages, which are
// streamed. A request that does not have the string is sent as it is. It is to be called before the request is made.
func (x *Exchange) Splice(l *List) (placeholder string) {
	x.list, x.mark = l, "messages-"+rand.Text()
	return x.mark
}

// spliced gives the request with the list in its place.
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
	with.Body, _ = with.GetBody() // it has no error
	return &with, nil
}

func bodyOf(raw []byte) body {
	return body{list: []part{{string(raw), len(raw)}}, size: int64(len(raw))}
}
