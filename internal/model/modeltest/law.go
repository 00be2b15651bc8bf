package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Capture is a transport that keeps the body of the last request and sends nothing.
type Capture struct {
	Body []byte
	// Length is the request's declared body length.
	Length int64
}

var errCaptured = errors.New("captured")

// RoundTrip implements http.RoundTripper. It reads the body twice, as happens when a connection
// breaks.
func (c *Capture) RoundTrip(req *http.Request) (*http.Response, error) {
	first, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	again, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	c.Length = req.ContentLength
	if c.Body, err = io.ReadAll(again); err == nil && !bytes.Equal(c.Body, first) {
		err = errors.New("the body differs when it is read again")
	}
	return nil, errors.Join(errCaptured, err)
}

// body returns the body of the request that call makes, or nil if it makes none.
func (c *Capture) body(t *rapid.T, call func()) []byte {
	c.Body, c.Length = nil, 0
	call()
	if c.Body != nil && c.Length != int64(len(c.Body)) {
		t.Fatalf("the length is %d, the body has %d bytes", c.Length, len(c.Body))
	}
	return c.Body
}

// CheckBodies checks that a client sends what its SDK writes for the same messages (former), and
// that requests continued from a memo are identical to those written without one.
func CheckBodies[C model.Client](t *testing.T, create func(*http.Client) (C, error), former func(C, model.Request),
	extra ExtraFunc) {
	t.Helper()
	client := func(h *http.Client) C {
		c, err := create(h)
		if err != nil {
			panic(err) // the configuration comes from the test
		}
		return c
	}
	rapid.Check(t, func(t *rapid.T) {
		capture := &Capture{}
		http := &http.Client{Transport: capture}
		c := client(http)
		call := func(req model.Request) []byte {
			return capture.body(t, func() {
				if _, err := c.Call(context.Background(), req, nil); err == nil {
					t.Fatal("a request that was not sent has an answer")
				}
			})
		}
		req := RandomRequest(t, extra)
		whole := call(req)
		sameBody(t, whole, capture.body(t, func() { former(c, req) }), isPlain(req))

		req.Memo = &model.Memo{}
		if rapid.Bool().Draw(t, "memo of another adapter") {
			req.Memo.Keep("other")
		}
		messages := req.Messages
		for range rapid.IntRange(1, 6).Draw(t, "calls of the conversation") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				i := rapid.IntRange(0, len(messages)-1).Draw(t, "changed")
				messages = slices.Clone(messages)
				messages[i] = RandomMessages(t, 1, extra)[0]
			case 1:
				messages = messages[:rapid.IntRange(1, len(messages)).Draw(t, "left")]
			default:
				messages = append(messages, RandomMessages(t, rapid.IntRange(0, 3).Draw(t, "new"), extra)...)
			}
			req.Messages = messages
			got := call(req)
			scratch := req
			scratch.Memo = nil
			if want := call(scratch); !bytes.Equal(got, want) {
				t.Fatalf("with memo\n%s\nwithout\n%s", got, want)
			}
		}
	})
}

// sameBody compares two bodies, as JSON unless exact is set.
func sameBody(t *rapid.T, got, want []byte, exact bool) {
	same := bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(want))
	if !same && !exact {
		same = reflect.DeepEqual(decoded(t, got), decoded(t, want))
	}
	if !same {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
}

func decoded(t *rapid.T, body []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in\n%s", err, body)
	}
	return v
}

// isPlain reports whether the bodies of a request must be identical. If a string is not UTF-8, SDKs
// differ in how they write the replacement of a byte; if an option changes something in the
// messages, they are rewritten.
func isPlain(req model.Request) bool {
	for path := range req.Params.ProviderOptions {
		if strings.HasSuffix(path, ".0") || strings.HasSuffix(path, ".content") {
			return false
		}
	}
	return !slices.ContainsFunc(req.Messages, func(m chat.Message) bool { return !utf8.ValidString(m.Text.String()) })
}
