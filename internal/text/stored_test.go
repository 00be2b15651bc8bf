package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestStored checks that a released text is loaded each time, is kept while it is pinned, and is
// never the wrong one.
func TestStored(t *testing.T) {
	t.Parallel()
	loads, fails := 0, false
	s := Keep("the words")
	load := func() (string, error) {
		if loads++; fails {
			return "", errors.New("no disk")
		}
		return "the words", nil
	}
	rope := Of("say ").Append(s.Text()).AppendString(".").Append(s.Text())
	read := func(want int) {
		t.Helper()
		if got := rope.String(); got != "say the words.the words" || loads != want {
			t.Fatalf("got %q after %d loads, want %d", got, loads, want)
		}
	}
	read(0)
	unpin, err := rope.Pin()
	if err != nil {
		t.Fatal(err)
	}
	s.Release(load)
	read(0)
	unpin()
	read(2)
	if unpin, err = rope.Pin(); err != nil {
		t.Fatal(err)
	}
	fails = true
	read(3)
	unpin()
	unpin()
	if rope.IsLoaded() || !Of("a").AppendString("b").IsLoaded() || rope.Len() != 23 || s.Text().IsBlank() {
		t.Error("what needs no bytes is wrong")
	}

	broken := func(what string, err error) {
		t.Helper()
		if _, ok := errors.AsType[*LoadError](err); !ok || !strings.Contains(err.Error(), "no disk") {
			t.Errorf("%s gives %v", what, err)
		}
	}
	_, err = rope.Pin()
	broken("Pin", err)
	_, err = rope.WriteTo(io.Discard)
	broken("WriteTo", err)
	_, err = json.Marshal(rope)
	broken("MarshalJSON", err)
	for what, fn := range map[string]func(){
		"String": func() { _ = rope.String() }, "Sum": func() { rope.Sum() }, "Contains": func() { rope.Contains("x") },
		"Equal":   func() { rope.Equal(Of("say " + strings.Repeat("x", 19))) },
		"IsBlank": func() { AtPlace(9, load).Text().IsBlank() },
	} {
		broken(what, func() (err error) {
			defer Recover(&err)
			fn()
			return nil
		}())
	}
	fails = false
	if _, err := AtPlace(8, load).Text().Pin(); err == nil || !strings.Contains(err.Error(), "it has 9 bytes, not 8") {
		t.Errorf("a text of another length gives %v", err)
	}
	if !AtPlace(3, func() (string, error) { return " \n ", nil }).Text().IsBlank() {
		t.Error("white space is not blank")
	}
	var b bytes.Buffer
	if _, err := rope.WriteTo(&b); err != nil || b.String() != rope.String() {
		t.Errorf("after the disk is back: %q, %v", b.String(), err)
	}
}

func TestRecover_OtherPanic(t *testing.T) {
	t.Parallel()
	defer func() {
		if v := recover(); v != "other" {
			t.Errorf("got %v", v)
		}
	}()
	var err error
	defer Recover(&err)
	panic("other")
}
