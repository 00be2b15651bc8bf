package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/text"
)

// quoted returns s as encoding/json writes it.
func quoted(t testing.TB, s string, escapeHTML bool) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// written returns the JSON that Parts produces for s.
func written(t testing.TB, s text.Text, escapeHTML bool) string {
	t.Helper()
	p := NewParts(escapeHTML)
	p.Text(s)
	b := p.body()
	raw, err := io.ReadAll(&reader{rest: []body{b}})
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(raw)) != b.size {
		t.Errorf("%d bytes, but the size is %d", len(raw), b.size)
	}
	return string(raw)
}

func checkString(t testing.TB, s string) {
	t.Helper()
	for _, escapeHTML := range []bool{false, true} {
		for _, long := range []string{s, s + strings.Repeat("long enough to be shared ", minShared/20),
			strings.Repeat(s, 1+minShared/(1+len(s)))} {
			if got, want := written(t, text.Of(long), escapeHTML), quoted(t, long, escapeHTML); got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		}
	}
}

// TestEscapeBytes checks each byte in each of the eight positions that are read together.
func TestEscapeBytes(t *testing.T) {
	t.Parallel()
	for b := range 256 {
		for at := range 9 {
			checkString(t, strings.Repeat("a", at)+string([]byte{byte(b)})+"bcdefgh")
		}
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n", "<é\u2028\u2029\xe2\x80", "\x00\x1f\x7f\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkString(t, s) })
}

// TestEscape_SplitText checks that a text of pieces is written as one string, wherever it is cut,
// even inside a character.
func TestEscape_SplitText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(
			rapid.SliceOfN(rapid.SampledFrom([]string{"é\u2028\n", "plain", "\xff",
				strings.Repeat("\"long\" é ", 100)}), 0, 6).Draw(t, "text"), "")
		rope, rest := text.Text{}, s
		for rest != "" {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			rope, rest = rope.AppendString(rest[:n]), rest[n:]
		}
		p := NewParts(true)
		p.Text(rope)
		raw, err := io.ReadAll(&reader{rest: []body{p.body()}})
		if want, _ := json.Marshal(s); err != nil || !bytes.Equal(raw, want) {
			t.Fatalf("got %s, %v\nwant %s", raw, err, want)
		}
	})
}

// TestReader checks that readers return the same bytes whatever the size of their buffers, and that
// a body does not change when more is added.
func TestReader(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := NewParts(rapid.Bool().Draw(t, "html"))
		var taken []body
		var want []string
		for range rapid.IntRange(1, 5).Draw(t, "parts") {
			p.Raw("[")
			p.String(strings.Repeat(rapid.SampledFrom([]string{"x", "\"\n", "\x01<", "é"}).Draw(t, "text"),
				rapid.IntRange(0, 2000).Draw(t, "length")))
			b := p.body()
			raw, err := io.ReadAll(&reader{rest: []body{b}})
			if err != nil || int64(len(raw)) != b.size {
				t.Fatalf("%d bytes of %d: %v", len(raw), b.size, err)
			}
			taken, want = append(taken, b), append(want, string(raw))
		}
		for i, b := range taken {
			if err := iotest.TestReader(&reader{rest: []body{b}}, []byte(want[i])); err != nil {
				t.Fatal(err)
			}
			var got []byte
			for r := (&reader{rest: []body{b, {}, b}}); ; {
				room := make([]byte, rapid.IntRange(1, 200).Draw(t, "room"))
				n, err := r.Read(room)
				got = append(got, room[:n]...)
				if errors.Is(err, io.EOF) {
					break
				}
			}
			if string(got) != want[i]+want[i] {
				t.Fatalf("got %s\nwant it two times: %s", got, want[i])
			}
		}
	})
}

// countingWriter counts the messages that it writes.
type countingWriter struct{ n *int }

func (w countingWriter) Add(p *Parts, m *chat.Message) {
	*w.n++
	p.Text(m.Text)
}

func (countingWriter) End() string { return "]" }

// TestMessages_EncodedOnce checks that a growing conversation is written once: each call adds its
// new messages, shares long strings, and allocates the same however long the conversation is.
func TestMessages_EncodedOnce(t *testing.T) { // not parallel: it counts allocations
	memo, n := &model.Memo{}, 0
	var messages []chat.Message
	call := func() *List {
		l, err := Messages(memo, "p", NewParts(false), messages, func() (Writer, *Parts) {
			return countingWriter{&n}, NewParts(false)
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	long := strings.Repeat("a line\n", 4000)
	for range 400 {
		messages = append(messages, chat.Message{Role: chat.RoleTool, Text: text.Of(long)})
		call()
	}
	if n != len(messages) {
		t.Errorf("%d messages were written, the conversation has %d", n, len(messages))
	}
	if got := call().size(); got < int64(len(messages)*len(long)) {
		t.Errorf("the list has %d bytes", got)
	}
	if allocs := testing.AllocsPerRun(20, func() { call() }); allocs > 12 {
		t.Errorf("a call without new messages allocates %.0f times", allocs)
	}
	changed := append([]chat.Message(nil), messages...)
	changed[0].Text = text.Of("other")
	n, messages = 0, changed
	call()
	if n != len(messages) {
		t.Errorf("%d messages of a changed conversation were written, it has %d", n, len(messages))
	}
}

// BenchmarkEscape writes a text of lines as a request does, in pieces of 32 KB, compared with a
// copy of its JSON.
func BenchmarkEscape(b *testing.B) {
	room := make([]byte, 32<<10)
	for name, line := range map[string]string{
		"lines": "12.3\tthe quick brown fox jumps over the \"lazy\" dog and <then> rests\n",
		"prose": strings.Repeat("the quick brown fox jumps over the lazy dog. ", 8) + "\n",
		"é":     "où est le garçon à l'été, dit-il\n",
	} {
		long := strings.Repeat(line, 1<<20/len(line))
		for mode, esc := range map[string]*escaping{"plain": plain, "html": html} {
			p := &Parts{esc: esc}
			p.String(long)
			json := p.body()
			b.Run(name+"/"+mode, func(b *testing.B) {
				b.SetBytes(json.size)
				for b.Loop() {
					r := &reader{rest: []body{json}}
					for {
						if _, err := r.Read(room); err != nil {
							break
						}
					}
				}
			})
		}
	}
}
