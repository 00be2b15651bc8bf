package text

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

// build returns a text of random parts, some of them shared, and the string that it must equal.
func build(t *rapid.T) (Text, string) {
	texts, want := []Text{{}}, []string{""}
	for range rapid.IntRange(1, 30).Draw(t, "ops") {
		i := rapid.IntRange(0, len(texts)-1).Draw(t, "left")
		var part Text
		var s string
		if rapid.Bool().Draw(t, "literal") {
			s = rapid.StringMatching(`[ab\n ]{0,5}|[ä€]{1,3}`).Draw(t, "text")
			part = Of(s)
			if rapid.Bool().Draw(t, "stored") {
				kept := Keep(s)
				part = kept.Text()
				if rapid.Bool().Draw(t, "released") {
					kept.Release(func() (string, error) { return s, nil })
				}
			}
		} else {
			j := rapid.IntRange(0, len(texts)-1).Draw(t, "right")
			part, s = texts[j], want[j]
		}
		if len(want[i])+len(s) > 1<<14 {
			continue
		}
		if rapid.Bool().Draw(t, "sum") {
			_ = texts[i].Append(part).Sum()
		}
		texts, want = append(texts, texts[i].Append(part)), append(want, want[i]+s)
	}
	i := rapid.IntRange(0, len(texts)-1).Draw(t, "take")
	return texts[i], want[i]
}

func TestText_MatchesString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, want := build(t)
		if got.String() != want || got.Len() != int64(len(want)) || got.IsZero() != (want == "") {
			t.Fatalf("got %q with length %d, want %q", got, got.Len(), want)
		}
		if string(got.AppendTo([]byte("x"))) != "x"+want {
			t.Errorf("AppendTo gives something else")
		}
		var b bytes.Buffer
		if n, err := got.WriteTo(&b); err != nil || n != int64(len(want)) || b.String() != want {
			t.Errorf("WriteTo gives %q, %d, %v", b.String(), n, err)
		}
		if first := got.Sum(); first != sha256.Sum256([]byte(want)) || first != got.Sum() {
			t.Errorf("Sum is another one")
		}
		n := rapid.IntRange(0, len(want)+2).Draw(t, "head")
		if got.Head(n) != want[:min(n, len(want))] {
			t.Errorf("Head(%d) = %q", n, got.Head(n))
		}
		sub := rapid.StringMatching(`[ab\n ]{0,4}`).Draw(t, "sub")
		if got.Contains(sub) != strings.Contains(want, sub) {
			t.Errorf("Contains(%q) = %t", sub, got.Contains(sub))
		}
		if got.IsBlank() != (strings.TrimSpace(want) == "") {
			t.Errorf("IsBlank = %t", got.IsBlank())
		}
		other, second := build(t)
		if got.Equal(other) != (want == second) || !got.Equal(Of(want)) || !Of(want).Equal(got) {
			t.Errorf("Equal differs for %q and %q", want, second)
		}
		data, err := json.Marshal(got)
		var back Text
		if err != nil || json.Unmarshal(data, &back) != nil || back.String() != want {
			t.Errorf("JSON gives %s, %v", data, err)
		}
	})
}

// TestLongChain checks that sums and walks of a text of 100,000 parts do not recurse, and that a
// sum continues from where the previous one ended.
func TestLongChain(t *testing.T) {
	var chain Text
	h := sha256.New()
	part := strings.Repeat("0123456789abcdef", 4)
	for i := range 100_000 {
		chain = chain.AppendString(part)
		h.Write([]byte(part))
		if i%100 == 0 && chain.Append(Of("end")).Sum() == chain.Sum() {
			t.Fatal("two sums are equal")
		}
	}
	if got := chain.Sum(); !bytes.Equal(got[:], h.Sum(nil)) {
		t.Error("the sum of the chain differs")
	}
	if n, err := chain.WriteTo(io.Discard); err != nil || n != chain.Len() {
		t.Errorf("wrote %d of %d bytes: %v", n, chain.Len(), err)
	}
	deep := chain
	for range 10_000 {
		deep = Of("x").Append(deep)
	}
	if deep.Sum() == chain.Sum() || deep.Head(3) != "xxx" {
		t.Error("a rope in ropes differs")
	}
}

// TestSum_Incremental checks that the sum of a text that extends another one reads only what was
// added.
func TestSum_Incremental(t *testing.T) {
	base := Of(strings.Repeat("a", 5000)).Append(Of("b"))
	base.Sum()
	if base.n.left.mark.Load() == nil {
		t.Fatal("no state is kept behind 5,000 bytes")
	}
	if base.n.mark.Load() != nil {
		t.Error("a state is kept for one byte")
	}
}

func TestLengthDoesNotOverflow(t *testing.T) {
	twice := Of("ab")
	for range 80 {
		twice = twice.Append(twice)
	}
	if twice.Len() != math.MaxInt64 {
		t.Errorf("length %d", twice.Len())
	}
	if twice.Head(5) != "ababa" {
		t.Errorf("head %q", twice.Head(5))
	}
}

type brokenWriter struct{ room int }

var errFull = errors.New("full")

func (w *brokenWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	if w.room -= n; n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteToStopsAtError(t *testing.T) {
	n, err := Of("ab").Append(Of("cd")).Append(Of("ef")).WriteTo(&brokenWriter{room: 3})
	if n != 3 || !errors.Is(err, errFull) {
		t.Errorf("got %d, %v", n, err)
	}
	var text Text
	if err := json.Unmarshal([]byte("1"), &text); err == nil {
		t.Error("a number is taken for a text")
	}
}

// BenchmarkChain computes the sum of each text of a chain with 5 KB per part.
func BenchmarkChain(b *testing.B) {
	part := Of(strings.Repeat("x", 5000))
	for _, n := range []int{400, 800} {
		b.Run("", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var t Text
				for range n {
					t = t.Append(part)
					_ = t.AppendString("end").Sum()
				}
			}
		})
	}
}
