package client

import (
	"testing"

	"github.com/hocket-run/hocket/internal/view"
)

// TestReferences_ObjectsWithExtraKeys checks that a user's object that has the key of references
// and other keys is left unchanged, and that references after it are replaced.
func TestReferences_ObjectsWithExtraKeys(t *testing.T) {
	t.Parallel()
	const reference = `{"$value":{"bytes":9,"sha256":"ab","head":"x","href":"/h"}}`
	for _, user := range []string{
		`{"$value":5,"x":1}`, `{"$value":{"sha256":"cd","href":"/evil"},"x":1}`, `{"$value":[],"$VALUE":{}}`,
		`{"$value":"s","y":{"a":[]}}`, `{"$value":true,"z":{"$value":"s","y":1}}`,
	} {
		got := string(replaceReferences([]byte(`{"a":`+user+`,"b":`+reference+`}`), func(v view.Value) []byte {
			return []byte(`"` + v.SHA256 + `"`)
		}))
		if want := `{"a":` + user + `,"b":"ab"}`; got != want {
			t.Errorf("%s\n got %s\nwant %s", user, got, want)
		}
	}
}
