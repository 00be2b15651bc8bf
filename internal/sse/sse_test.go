package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/sse"
)

// events returns the events that Events yields, each as "name=data", and the error that ended it.
func events(r io.Reader) (out []string, failure error) {
	for e, err := range sse.Events(r) {
		if err != nil {
			return out, err
		}
		out = append(out, e.Name+"="+string(e.Data))
	}
	return out, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"plain":            {"data: a\n\ndata: b\n\n", []string{"=a", "=b"}},
		"CRLF":             {"event: x\r\ndata: a\r\n\r\n", []string{"x=a"}},
		"no space":         {"data:a\n\n", []string{"=a"}},
		"one space only":   {"data:  a\n\n", []string{"= a"}},
		"several lines":    {"data: a\ndata: b\n\n", []string{"=a\nb"}},
		"comments":         {": hello\n\n:\n\ndata: a\n: in between\n\n", []string{"=a"}},
		"no data":          {"event: ping\n\ndata: a\n\n", []string{"=a"}},
		"empty data":       {"data:\n\ndata: a\n\n", []string{"=a"}},
		"other fields":     {"id: 7\nretry: 3\nnonsense\ndata: a\n\n", []string{"=a"}},
		"cut off at end":   {"data: a\n\ndata: b", []string{"=a", "=b"}},
		"name is not kept": {"event: x\ndata: a\n\ndata: b\n\n", []string{"x=a", "=b"}},
		"CR":               {"event: x\rdata: a\r\rdata: b\r\r", []string{"x=a", "=b"}},
		"mixed ends":       {"data: a\r\ndata: b\rdata: c\n\r\n", []string{"=a\nb\nc"}},
		"byte order mark":  {"\uFEFFdata: a\n\n", []string{"=a"}},
		"empty line first": {"data:\ndata: a\n\n", []string{"=\na"}},
		"field alone":      {"data\ndata\n\n", []string{"=\n"}},
		"nothing":          {"", nil},
		"long line": {"data: " + strings.Repeat("x", 20_000) + "\n\n",
			[]string{"=" + strings.Repeat("x", 20_000)}},
		"many empty lines":  {"\n\n\ndata: a\n\n\n\n", []string{"=a"}},
		"data with a colon": {"data: {\"a\":1}\n\n", []string{`={"a":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, r := range map[string]io.Reader{"whole": strings.NewReader(tc.in),
				"by bytes": iotest.OneByteReader(strings.NewReader(tc.in))} {
				got, err := events(r)
				if d := cmp.Diff(got, tc.want); d != "" || err != nil {
					t.Errorf("%s: %v -got +want\n%s", way, err, d)
				}
			}
		})
	}
	boom := errors.New("boom")
	if got, err := events(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(boom))); !errors.Is(
		err, boom) || len(got) != 1 {
		t.Errorf("got %q, %v; want one event and the error", got, err)
	}
	if _, err := events(io.LimitReader(endless('x'), sse.MaxEvent+1<<20)); err == nil {
		t.Error("got no error from an endless line")
	}
	if _, err := events(io.LimitReader(&repeated{text: "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"},
		2*sse.MaxEvent)); err == nil {
		t.Error("got no error from an endless event")
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(p), nil
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: x\r\ndata: a\n: c\ndata: b\n\ndata: [DONE]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := events(bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		split, err := events(iotest.HalfReader(bytes.NewReader(in)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(whole, split); d != "" {
			t.Errorf("how the bytes arrive matters: %s", d)
		}
	})
}

// TestID checks that the ID persists until another one arrives, as clients send it when they reopen
// a stream.
func TestID(t *testing.T) {
	t.Parallel()
	var got []string
	stream := "data: a\n\nid: 7\ndata: b\n\ndata: c\n\nid: x\x00y\ndata: d\n\nid\ndata: e\n\n"
	for e, err := range sse.Events(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e.ID+"="+string(e.Data))
	}
	if d := cmp.Diff(got, []string{"=a", "7=b", "7=c", "7=d", "=e"}); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
}

// TestReader_Immediate checks that an event is yielded as soon as its empty line was read, even if
// a CR ends it and nothing follows.
func TestReader_Immediate(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		r, w := io.Pipe()
		wrote := make(chan error, 1)
		go func() {
			_, err := io.WriteString(w, text)
			wrote <- err
		}()
		for e, err := range sse.Events(r) {
			if err != nil || string(e.Data) != "a" {
				t.Errorf("%q: %q, %v", text, e.Data, err)
			}
			break
		}
		if err := errors.Join(r.Close(), <-wrote); err != nil {
			t.Error(err)
		}
	}
}
