package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSchema_Fit(t *testing.T) {
	t.Parallel()
	const params = `{"type":"object","required":["cmd"],"additionalProperties":false,"$defs":{"n":{"type":"integer"}},
		"properties":{"cmd":{"type":"string"},"cwd":{"type":"string"},"timeout":{"type":"integer","minimum":1},
			"ratio":{"type":"number"},"note":{"type":["string","null"]},"any":{},
			"kind":{"enum":["a","b"]},"label":{"anyOf":[{"type":"string"},{"type":"null"}]},
			"count":{"$ref":"#/$defs/n"},"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
			"old":{"type":"string","nullable":true},
			"list":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},
				"text":{"type":"string"}}}},
			"env":{"type":"object","additionalProperties":{"type":"string"}}}}`
	s, err := Compile(json.RawMessage(params))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ value, want, problem string }{
		"unchanged":         {`{ "cmd": "x<y", "timeout": 5 }`, `{ "cmd": "x<y", "timeout": 5 }`, ""},
		"null for optional": {`{"cmd":"x<y","cwd":null,"timeout":null,"kind":null}`, `{"cmd":"x<y"}`, ""},
		"null that is wanted": {`{"cmd":"x","note":null,"any":null,"label":null}`,
			`{"cmd":"x","note":null,"any":null,"label":null}`, ""},
		"null for required":  {`{"cmd":null}`, `{}`, `lacks "cmd"`},
		"null with nullable": {`{"cmd":"x","old":null}`, `{"cmd":"x"}`, ""},
		"null in a list":     {`{"cmd":"x","list":[{"id":1,"text":null}]}`, `{"cmd":"x","list":[{"id":1}]}`, ""},
		"null as an item":    {`{"cmd":"x","list":[null]}`, `{"cmd":"x","list":[null]}`, "must be an object, not null"},
		"null in a map":      {`{"cmd":"x","env":{"A":null,"B":"b"}}`, `{"cmd":"x","env":{"B":"b"}}`, ""},
		"unknown null":       {`{"cmd":"x","cdw":null}`, `{"cmd":"x","cdw":null}`, `must not have "cdw"`},
		"whole number":       {`{"cmd":"x","timeout":5.0}`, `{"cmd":"x","timeout":5}`, ""},
		"exponent":           {`{"cmd":"x","timeout":1e3,"count":2.50e1}`, `{"cmd":"x","count":25,"timeout":1000}`, ""},
		"in a list":          {`{"cmd":"x","list":[{"id":7.0}]}`, `{"cmd":"x","list":[{"id":7}]}`, ""},
		"one of two":         {`{"cmd":"x","either":2.0}`, `{"cmd":"x","either":2}`, ""},
		"a decimal":          {`{"cmd":"x","ratio":5.0}`, `{"cmd":"x","ratio":5.0}`, ""},
		"a fraction":         {`{"cmd":"x","timeout":5.5}`, `{"cmd":"x","timeout":5.5}`, "must be a whole number"},
		"no JSON":            {`{"cmd`, `{"cmd`, "cannot be read"},
		"too small":          {`{"cmd":"x","timeout":0.0}`, `{"cmd":"x","timeout":0}`, "must be at least 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, violations := s.Fit(json.RawMessage(tc.value))
			if string(got) != tc.want {
				t.Errorf("got %s; want %s", got, tc.want)
			}
			if problem := Describe(violations); (problem == "") != (tc.problem == "") || !strings.Contains(problem,
				tc.problem) {
				t.Errorf("got problem %q; want %q", problem, tc.problem)
			}
		})
	}
}

// TestSchema_FitLimit checks that a value with more places than the limit is not changed at all,
// and one with as many is changed everywhere.
func TestSchema_FitLimit(t *testing.T) {
	t.Parallel()
	s, err := Compile(json.RawMessage(`{"type":"object","additionalProperties":{"type":"integer"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]bool{maxFits: true, maxFits + 1: false} {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":null`, i)
		}
		value := "{" + b.String()[1:] + "}"
		if got, _ := s.Fit(json.RawMessage(value)); (string(got) == "{}") != want || !want && string(got) != value {
			t.Errorf("%d places: got %.60s of %d bytes; want it changed: %v", n, got, len(got), want)
		}
	}
}
