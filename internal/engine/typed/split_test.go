package typed

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
)

// checkSplit checks that Split returns the same as decoding, or nothing.
func checkSplit(t interface{ Fatalf(string, ...any) }, object []byte) (taken bool) {
	got, ok := Split(object)
	if !ok {
		return false
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(object, &want); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	if diff := cmp.Diff(got.Map(), StateOf(want, 0).Map()); diff != "" {
		t.Fatalf("%s: split - decoded +\n%s", object, diff)
	}
	for name := range got.Names() {
		if got.Value(name).Step() != 0 {
			t.Fatalf("%s: field %q was written by step %d", object, name, got.Value(name).Step())
		}
	}
	return true
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for object, taken := range map[string]bool{
		`{}`:                                    true,
		`{"n":0}`:                               true,
		`{"b":[1,{"c":"},]\\\""}],"a":"x,\"}"}`: true,
		`{"z":null,"a":{},"m":-1.5e3}`:          true,
		`{"a":1,"a":2}`:                         false,
		`{"\u0061":1}`:                          false,
		`{"é":1}`:                               false,
		`{"a": 1}`:                              false,
		`{"a":1 }`:                              false,
		`{ "a":1}`:                              false,
		`[]`:                                    false,
		`null`:                                  false,
		``:                                      false,
	} {
		if got := checkSplit(t, []byte(object)); got != taken {
			t.Errorf("%s: taken %t", object, got)
		}
	}
}

func TestSplit_MatchesDecode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		object := rapid.MapOf(rapid.String(), rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOf(rapid.String()), func(l []string) any { return l }),
			rapid.Map(rapid.MapOf(rapid.String(), rapid.Int()), func(m map[string]int) any { return m }),
		)).Draw(rt, "object")
		raw, err := json.Marshal(object)
		if err != nil {
			rt.Fatal(err)
		}
		checkSplit(rt, raw)
	})
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte(`{"a":[1,"}"],"b":{"c":null}}`))
	f.Fuzz(func(t *testing.T, object []byte) {
		if json.Valid(object) {
			checkSplit(t, object)
		} else {
			Split(object) // must not panic
		}
	})
}
