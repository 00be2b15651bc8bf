package held

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/journal"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

// passed collects the output sent for a run.
type passed struct {
	mu      sync.Mutex
	heard   bool
	texts   []string
	longest int
}

func (p *passed) Listen(string, func(string)) (stop func()) { return func() {} }
func (p *passed) HasListener(string) bool                   { return p.heard }
func (p *passed) Pass(_, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.texts = append(p.texts, text)
	p.longest = max(p.longest, len(text))
}

// TestOutput_Chunks checks that pieces of several calls arrive complete and in order for each call,
// in strings that can be sent, and that no piece with bytes that are not UTF-8 is sent.
func TestOutput_Chunks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := &passed{heard: true}
		s := NewSaid(p)
		want := map[string]string{}
		offset := map[string]int{}
		for range rapid.IntRange(1, 40).Draw(rt, "pieces") {
			call := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "call")
			text := strings.Repeat(rapid.StringN(0, 20, -1).Draw(rt, "text"),
				rapid.SampledFrom([]int{1, 1, 1, 400}).Draw(rt, "times"))
			if rapid.IntRange(0, 4).Draw(rt, "kind") == 0 {
				s.Say("r", driver.Delta{Call: call, Offset: offset[call], Reasoning: text})
				want[call+" thinks"] += text
			} else {
				s.Say("r", driver.Delta{Call: call, Offset: offset[call], Text: text})
				want[call] += text
				offset[call] += len(text)
			}
		}
		s.Flush("r")
		got := map[string]string{}
		for _, text := range p.texts {
			if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				rt.Fatalf("passed %q", text)
			}
			for _, d := range Heard(text) {
				if d.Offset != len(got[d.Call]) {
					rt.Fatalf("a piece of %s at %d, want %d", d.Call, d.Offset, len(got[d.Call]))
				}
				got[d.Call] += d.Text
				got[d.Call+" thinks"] += d.Reasoning
			}
		}
		for call, text := range want {
			if got[call] != text {
				rt.Fatalf("%s said %d bytes, want %d", call, len(got[call]), len(text))
			}
		}
		if p.longest > journal.MaxDelta {
			rt.Fatalf("passed %d bytes", p.longest)
		}
	})
}

// TestOutput_ChunksJoined checks that pieces are joined for 100 ms, or until they reach 4 KB, and
// that nothing is kept if no process listens to the run.
func TestOutput_ChunksJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &passed{}
		s := NewSaid(p)
		s.Say("r", driver.Delta{Call: "a", Text: "x"})
		time.Sleep(time.Second)
		if len(p.texts) != 0 || len(s.runs) != 0 {
			t.Errorf("%d texts were passed that no process hears", len(p.texts))
		}
		p.heard = true
		for i := range 300 { // 3 s
			s.Say("r", driver.Delta{Call: "a", Offset: i, Text: "x"})
			time.Sleep(10 * time.Millisecond)
		}
		s.Flush("r")
		if n := len(p.texts); n < 25 || n > 31 {
			t.Errorf("%d texts in 3 s", n)
		}
		p.texts = nil
		s.Say("r", driver.Delta{Call: "a", Offset: 300, Text: strings.Repeat("y", sayBytes)})
		if len(p.texts) != 1 {
			t.Errorf("%d texts of 4 KB at once", len(p.texts))
		}
		s.Say("r", driver.Delta{Call: "a", Offset: 300, Text: "\xff"})
		s.Flush("r")
		if len(Heard(p.texts[len(p.texts)-1])) != 0 {
			t.Errorf("bytes that are no text were passed: %q", p.texts)
		}
	})
	if Heard("{") != nil {
		t.Error("a text that is cut off has pieces")
	}
}
