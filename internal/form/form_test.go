package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/workflow"
)

func TestFill(t *testing.T) {
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","default":3},` +
		`"who":{"type":"object","properties":{"name":{"type":"string","default":"Ann"}}},"on":{"type":"boolean"},` +
		`"all":{"type":"array","items":{"type":"integer"}}}}`
	for in, want := range map[string]string{
		`{}`:                         `{"n":3}`,
		`{"n":"5"}`:                  `{"n":5}`,
		`{"on":"true","all":["1"]}`:  `{"on":true,"all":[1],"n":3}`,
		`{"who":{},"x":1}`:           `{"who":{"name":"Ann"},"x":1,"n":3}`,
		`{"n":"many"}`:               `{"n":"many"}`,
		`"text"`:                     `"text"`,
		`[1]`:                        `[1]`,
		`{"n":null}`:                 `{"n":null}`,
		`{"a":"<b>","a":"c","n":1}`:  `{"a":"c","n":1}`,
		`{"n" : 1 , "who" : "Ben" }`: `{"n":1,"who":"Ben"}`,
	} {
		if got := Fill(json.RawMessage(schema), json.RawMessage(in)); string(got) != want {
			t.Errorf("Fill(%s) = %s, want %s", in, got, want)
		}
	}
	for _, schema := range []string{`true`, `5`, `{"properties":5}`, `{`, `{"properties":{"a":true}}`} {
		if got := Fill(json.RawMessage(schema), json.RawMessage(`{"b":1}`)); string(got) != `{"b":1}` {
			t.Errorf("with the schema %s: %s", schema, got)
		}
	}
}

// TestReadManyProblems checks that all problems are reported, up to the number that anyone would
// read.
func TestReadManyProblems(t *testing.T) {
	var b strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	_, problems := Read([]workflow.Input{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}},
		"{"+b.String()[1:]+"}", nil)
	if len(problems) != 21 || problems[20].Message != "there are 49981 more problems with the inputs" {
		t.Errorf("%d problems, the last: %s", len(problems), problems[len(problems)-1].Message)
	}
}

// TestReadManyMembers checks that reading objects takes time proportional to the number of their
// members.
func TestReadManyMembers(t *testing.T) {
	list := []workflow.Input{{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}}
	took := func(n int) time.Duration {
		var b strings.Builder
		b.WriteString(`{"a":{"k":0`)
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":%d`, i, i)
		}
		b.WriteString("}}")
		best := time.Hour
		for range 3 {
			began := time.Now()
			if _, problems := Read(list, b.String(), nil); problems.HasErrors() {
				t.Fatal(problems)
			}
			Fill(json.RawMessage(`{"properties":{"k":{"default":1}}}`), json.RawMessage(b.String()))
			best = min(best, time.Since(began))
		}
		return best
	}
	one, four := took(20_000), took(80_000)
	t.Logf("20,000 members: %v, 80,000: %v", one, four)
	if four > 12*one { // sixteen times the time for four times as many would be quadratic
		t.Errorf("20,000 members took %v, 80,000 took %v", one, four)
	}
}

// TestTakeRef checks that a member that refers to a part of the whole schema is accepted as parsed
// and checked with the whole.
func TestTakeRef(t *testing.T) {
	raw := json.RawMessage(
		`{"properties":{"share":{"$ref":"#/$defs/n"},"text":{"type":"string","$ref":"#/$defs/t"},` +
			`"list":{"type":"array","items":{"$ref":"#/$defs/n"}}},"$defs":{"n":{"type":"number"},` +
			`"t":{"minLength":1}}}`)
	fields := Fields(raw)
	for i, tt := range []struct {
		line, want string
	}{{"0.5", "0.5"}, {"5", `"5"`}, {"[1, 2]", "[1,2]"}, {"half", `"half"`}} {
		f := &fields[i%3]
		v, why := f.Take(tt.line)
		if string(v) != tt.want || why != "" {
			t.Errorf("Take(%q) = %s, %q", tt.line, v, why)
		}
		_, problems := Answer(raw, Object(fields, map[string]json.RawMessage{f.Name: v}))
		if (len(problems) > 0) != (tt.line == "half") {
			t.Errorf("%s: %v", v, problems)
		}
	}
}

// TestAnswerFields checks that an answer has no fields if they cannot provide all that is required.
func TestAnswerFields(t *testing.T) {
	for raw, want := range map[string]int{
		`{"properties":{"a":{},"b":true},"required":["a","b"]}`: 2, `{"properties":{"a":{}},"required":["a","b"]}`: 0,
		`{"required":["a"]}`: 0, `{"type":"string"}`: 0, `5`: 0,
		`{"properties":{"a":{}}}`: 1,
	} {
		if got := AnswerFields(json.RawMessage(raw)); len(got) != want {
			t.Errorf("%s: %d fields, want %d", raw, len(got), want)
		}
	}
}

func TestTake(t *testing.T) {
	fields := Fields(
		json.RawMessage(
			`{"properties":{"unit":{"enum":["metric","imperial"]},"n":{"enum":[2,1]},"on":{"type":"boolean"},` +
				`"day":{"type":"string","format":"date"},"any":{}}}`))
	for i, tt := range []struct{ line, want, why string }{
		{"2", `"imperial"`, ""}, {"metric", `"metric"`, ""}, {"3", "", "must be"},
	} {
		if v, why := fields[0].Take(tt.line); string(v) != tt.want || !strings.Contains(why, tt.why) ||
			(why == "") != (tt.why == "") {
			t.Errorf("%d: Take(%q) = %s, %q", i, tt.line, v, why)
		}
	}
	if v, _ := fields[1].Take("2"); string(v) != "2" {
		t.Errorf("a value that is a number comes before its place: %s", v)
	}
	if v, _ := fields[2].Take("Yes"); string(v) != "true" {
		t.Errorf("yes: %s", v)
	}
	if _, why := fields[3].Take("soon"); why != "must be a date such as 2026-05-01" {
		t.Errorf("a date: %q", why)
	}
	if v, _ := fields[4].Take("5"); string(v) != `"5"` {
		t.Errorf("a text where anything fits stays one: %s", v)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"a":1}`, `{"b":{"text":"x"}}`)
	f.Add("text", "")
	list := []workflow.Input{
		{Name: "a", Schema: json.RawMessage(`{"type":"array","items":{"type":"integer"}}`), Optional: true},
		{Name: "b", Schema: json.RawMessage(`{}`), File: &workflow.FileInput{}, Optional: true},
		{Name: "c", Schema: json.RawMessage(`{"type":"string","format":"uri","default":"https://example.com"}`)},
	}
	f.Fuzz(func(t *testing.T, text, named string) {
		out, problems := Read(list, text, json.RawMessage(named))
		if problems.HasErrors() {
			return
		}
		again, problems := Read(list, string(out), nil) // accepted input is accepted again, as in retries
		if problems.HasErrors() || string(again) != string(out) {
			t.Errorf("Read gave %s, and of that %s, %v", out, again, problems)
		}
	})
}
