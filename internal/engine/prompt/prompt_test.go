package prompt

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/text"
)

// TestRender_JSON checks the only rendering rule against fixed vectors: a different rule would need
// a new kind of part.
func TestRender_JSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: "", `null`: "", `""`: "", `"a"`: "a", `"a\n\"b\" \u00e9 <&>"`: "a\n\"b\" é <&>",
		`"\ud83d\ude00"`: "\U0001F600", `"\ud800"`: "\uFFFD",
		`true`: "true", `false`: "false", `0`: "0", `-0.0`: "-0.0", `1e400`: "1e400",
		`12345678901234567890`: "12345678901234567890", `1.50`: "1.50",
		`{ "b" : 1 , "a" : [ 1 , "x" ] }`: `{"b":1,"a":[1,"x"]}`, `[ ]`: `[]`, `{"a":"\u003c"}`: `{"a":"\u003c"}`,
		"not JSON": "not JSON", "{\"a\":\"\u2028\"}": "{\"a\":\"\u2028\"}",
	} {
		if got := OfJSON(json.RawMessage(in)).String(); got != want {
			t.Errorf("the text of %s is %q, want %q", in, got, want)
		}
	}
}

func outputs(of ...string) Outputs {
	return func(step int) (text.Text, bool) {
		if step >= len(of) {
			return text.Text{}, false
		}
		return text.Of(of[step]), true
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"": "", "plain": "plain", "{{P}}": "one", "a {{P}} b {{N}} c": "a one b {{P}} c",
		"{{P}}{{P}}{{N}}": "oneone{{P}}", "{{P": "{{P", "{{{P}}}": "{one}",
	} {
		var texts Texts
		b := NewBuilder(&texts, outputs("in", "one"))
		Template(b, in, map[string]int{"{{P}}": 1}, map[string]string{"{{N}}": "{{P}}"})
		if got := b.Text().String(); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
		r, err := b.Recipe()
		if err != nil || (r != nil) != strings.Contains(in, "{{P}}") {
			t.Fatalf("%q has the recipe %+v, %v", in, r, err)
		}
		if r == nil {
			continue
		}
		if err := texts.Check(2, r, outputs("in", "one")); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		texts.Add(2, r, outputs("in", "one"))
		if again, ok := texts.Of(2); !ok || again.String() != want || r.Check(again) != nil {
			t.Errorf("%q comes back as %q", in, again)
		}
		if r.Check(text.Of(want+"!")) == nil {
			t.Errorf("another text has the same SHA-256")
		}
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		input, instruction string
		turns              []Turn
		want               string
	}{
		"nothing":     {"", " ", nil, "none"},
		"input":       {"in", "", nil, "in"},
		"instruction": {" ", "do", nil, "do"},
		"both":        {"in", "do", nil, "do\n\nin"},
		"turns": {"in", "do", []Turn{{"A", 1}, {"B", 2}},
			"do\n\nRecent turns:\nA: one\nB: two\n\nOutput from B:\ntwo"},
		"a turn alone":       {"in", "", []Turn{{"A", 1}}, "Recent turns:\nA: one\n\nOutput from A:\none"},
		"an empty last turn": {"in", "", []Turn{{"A", 3}}, "Recent turns:\nA: \n\nOutput from A:\n"},
	} {
		var texts Texts
		b := NewBuilder(&texts, outputs(tc.input, "one", "two", ""))
		if Turns(b, tc.instruction, tc.turns, "none"); b.Text().String() != tc.want {
			t.Errorf("%s: got %q, want %q", name, b.Text(), tc.want)
		}
	}
}

// TestContext checks that a prompt shares with the previous one the prefix that has not changed,
// and nothing that has.
func TestContext(t *testing.T) {
	t.Parallel()
	var texts Texts
	of := outputs("in", "one", "two", "", "four", "five", "six")
	var c Context
	build := func(step, fixed int, want string, entries ...Entry) *Recipe {
		t.Helper()
		b := NewBuilder(&texts, of)
		c = c.Build(b, step, entries, fixed, func(i int) []Prior {
			return []Prior{{Name: string(rune('a' + entries[i].Node)), Step: entries[i].Step}}
		}, 0, "missing")
		if got := b.Text().String(); got != want {
			t.Errorf("step %d is given %q, want %q", step, got, want)
		}
		r, err := b.Recipe()
		if err != nil || !b.Keep(step, r) {
			t.Fatalf("step %d: %v", step, err)
		}
		return r
	}
	prior := func(s string) string {
		return "--- Prior Step Outputs ---\n\n" + s + "\n\n--- End Prior Step Outputs ---\n\nin"
	}
	build(4, 9, prior("[a]:\none\n\n[b]:\ntwo"), Entry{0, 1}, Entry{1, 2}, Entry{2, 3})
	if r := build(5, 9, prior("[a]:\none\n\n[b]:\ntwo\n\n[d]:\nfour"), Entry{0, 1}, Entry{1, 2}, Entry{2, 3},
		Entry{3, 4}); len(r.Parts) != 5 || r.Parts[0] != (Part{Step: 4, Parts: 4}) {
		t.Errorf("got %+v", r.Parts)
	}
	if r := build(6, 9, prior("[a]:\none\n\n[b]:\nfive\n\n[d]:\nfour"), Entry{0, 1}, Entry{1, 5}, Entry{2, 3},
		Entry{3, 4}); r.Parts[0] != (Part{Step: 4, Parts: 2}) {
		t.Errorf("got %+v", r.Parts)
	}
	if r := build(7, 1, prior("[a]:\none\n\n[b]:\nfive\n\n[d]:\nfour"), Entry{0, 1}, Entry{1, 5}, Entry{2, 3},
		Entry{3, 4}); r.Parts[0] != (Part{Step: 4, Parts: 2}) {
		t.Errorf("what may have changed is shared: %+v", r.Parts)
	}
	b := NewBuilder(&texts, outputs(""))
	Context{}.Build(b, 8, nil, 0, nil, 0, "missing")
	if r, err := b.Recipe(); r != nil || err != nil || b.Text().String() != "missing" {
		t.Errorf("got %q, %+v, %v", b.Text(), r, err)
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	large := outputs("", strings.Repeat("x", 1<<20))
	var texts Texts
	b := NewBuilder(&texts, large)
	for range MaxBytes >> 20 {
		b.Output(1)
	}
	r, err := b.Recipe()
	if err != nil || r.Bytes != MaxBytes {
		t.Fatalf("got %v", err)
	}
	b.Literal("x")
	if _, err := b.Recipe(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	r.Parts = append(r.Parts, Part{Text: "x"})
	if err := texts.Check(2, r, large); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a stored recipe beyond the bound gives %v", err)
	}
}
