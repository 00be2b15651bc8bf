package form

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAnswer checks that defaults and conversions are applied to an answer before it is checked,
// and that all problems are reported together.
func TestAnswer(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","required":["n","unit"],"properties":{"n":{"type":"integer","minimum":1},` +
		`"unit":{"enum":["m","km"],"default":"m"},"many":{"type":"array","items":{"type":"integer","maximum":5}},` +
		`"ok":{"type":"boolean"},"text":{"type":"string"},"day":{"type":"string","format":"date"},` +
		`"to":{"type":"object","properties":{"mail":{"type":"string","format":"email"}}}}}`
	for in, want := range map[string]string{
		`{"n":3}`:                        `{"n":3,"unit":"m"}`,
		`{"n":"3","unit":"km"}`:          `{"n":3,"unit":"km"}`,
		`"{\"n\":3}"`:                    `{"n":3,"unit":"m"}`,
		`{"n":1,"to":{"mail":"a@b.de"}}`: `{"n":1,"to":{"mail":"a@b.de"},"unit":"m"}`,
		`{"n":0,"unit":"mile"}`:          "/n must be at least 1; /unit must be",
		`{}`:                             "n",
		`"three"`:                        "the answer must be an object",
		`{"n":"0","unit":"m"}`:           "/n must be at least 1",
		`{"n":"0.5","many":["1","x"],"day":"soon"}`: `/many/1 must be a whole number, not a string; /n must be ` +
			`a whole number, not a number; /day must be a date such as 2026-05-01`,
		`{"n":"1","many":"7","ok":"1"}`: "/many/0 must be at most 5; " +
			"/ok must be a boolean, not a number",
		`{"n":"1","many":["1","2"],"ok":"true","text":"007"}`: `{"n":1,"many":[1,2],"ok":true,"text":"007","unit":"m"}`,
		`{"n":1,"day":"soon"}`:                                "/day must be a date such as 2026-05-01",
		`{"n":1,"to":{"mail":"somewhere"}}`:                   "/to/mail must be an email such as ann@example.com",
	} {
		got, problems := Answer(json.RawMessage(schema), json.RawMessage(in))
		if text := Describe(problems); text != "" && !strings.Contains(text, want) || text == "" &&
			string(got) != want {
			t.Errorf("Answer(%s) = %s, %s; want %s", in, got, text, want)
		}
	}
	for in, want := range map[string]string{`5`: `5`, `"5"`: `5`, `"five"`: "the answer must be"} {
		got, problems := Answer(json.RawMessage(`{"type":"integer"}`), json.RawMessage(in))
		if text := Describe(problems); !strings.Contains(text+string(got), want) {
			t.Errorf("Answer(%s) = %s, %s; want %s", in, got, text, want)
		}
	}
	if got, problems := Answer(json.RawMessage(`{"type":5}`), json.RawMessage(`"any"`)); string(got) != `"any"` ||
		problems != nil {
		t.Errorf("a schema that cannot be read: %s, %v", got, problems)
	}
	if got, _ := Answer(json.RawMessage(`{"type":"string"}`), json.RawMessage(`"{\"n\":3}"`)); string(
		got) != `"{\"n\":3}"` {
		t.Errorf("a text where one is asked for: %s", got)
	}
}
