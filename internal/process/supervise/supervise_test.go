package supervise_test

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/process/supervise"
)

// lengthBytes precede the fields.
const lengthBytes = 4

// FuzzDecode checks that encoded programs decode to the same, and that no decoded program lacks a
// name.
func FuzzDecode(f *testing.F) {
	f.Add("/bin/sh\x00dir\x002\x00sh\x00-c\x00A=1")
	f.Add("/bin/sh\x00\x001\x00sh")
	f.Add("/bin/sh\x00\x00-1\x00sh")
	f.Add("/bin/sh\x00\x009999999999999999999\x00sh")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := supervise.Decode(text)
		if !ok {
			return
		}
		if len(p.Argv) == 0 {
			t.Fatal("no arguments")
		}
		b, ok := p.Encode()
		if !ok {
			t.Fatal("cannot be encoded")
		}
		q, ok := supervise.Decode(string(b[lengthBytes:]))
		if !ok || q.Path != p.Path || q.Dir != p.Dir || !slices.Equal(q.Argv, p.Argv) || !slices.Equal(q.Env, p.Env) {
			t.Fatalf("got %+v, want %+v", q, p)
		}
	})
}

func TestEncode(t *testing.T) {
	t.Parallel()
	if _, ok := (supervise.Program{Path: "p", Argv: []string{"a\x00b"}}).Encode(); ok {
		t.Error("an argument with NUL was encoded")
	}
	m := supervise.Message{Kind: supervise.MsgEnded, A: 0x80000001, B: 7}
	if got := supervise.DecodeMessage([supervise.MessageBytes]byte(m.Encode())); got != m {
		t.Errorf("got %+v", got)
	}
}
