package hooks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzVerify checks that no headers are a valid signature without the secret, in any mode, and that
// none causes a panic (SEC18).
func FuzzVerify(f *testing.F) {
	for _, s := range []string{"v1,AAAA", "sha256=00", "v1, v1,", ",,,", "v1," + strings.Repeat("A", 44)} {
		f.Add("m1", "1700000000", s, "token", []byte("body"))
	}
	key := []byte(newSecret())
	f.Fuzz(func(t *testing.T, id, at, signature, token string, body []byte) {
		h := http.Header{}
		h.Set("Webhook-Id", id)
		h.Set("Webhook-Timestamp", at)
		h.Set("Webhook-Signature", signature)
		h.Set(headerGitHubSignature, signature)
		h.Set(headerGitHubDelivery, id)
		h.Set("Authorization", token)
		for _, mode := range Modes() {
			if _, ok := verify(mode, "Authorization", [][]byte{key}, h, body); ok {
				t.Fatalf("mode %s takes %q", mode, h)
			}
		}
		good, err := sign([][]byte{key}, id, time.Now(), body)
		if err != nil {
			t.Fatal(err)
		}
		_, sound := deliveryID(good, "webhook-id")
		if got, ok := verify(ModeStandard, "", [][]byte{decoyKeys[0], key}, good, body); ok != (sound && id != "" &&
			!strings.Contains(id, ".")) || ok && got != id {
			t.Fatalf("id %q: %q, %v", id, got, ok)
		}
	})
}

// FuzzInput checks that the input made from a body is text, and that JSON stays JSON, byte for byte
// behind a byte order mark (SEC2).
func FuzzInput(f *testing.F) {
	f.Add("application/json", []byte(`{"a":1}`))
	f.Add("application/x-www-form-urlencoded", []byte("a=1&a=2&b"))
	f.Add("application/json", []byte("\uFEFF{}"))
	f.Add("text/plain; charset=utf-8", []byte("x"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		got, err := inputOf(http.Header{"Content-Type": {kind}}, body)
		if err != nil {
			return
		}
		form := strings.HasPrefix(strings.ToLower(strings.TrimSpace(kind)), "application/x-www-form-urlencoded")
		if !utf8.ValidString(got) || !form && got != string(body) &&
			got != strings.TrimPrefix(string(body), "\uFEFF") || form && !json.Valid([]byte(got)) {
			t.Fatalf("%q of %q: %q", kind, body, got)
		}
	})
}

// FuzzToken checks that no string opens a link that was not created here, and that none causes a
// panic (SEC12).
func FuzzToken(f *testing.F) {
	v, err := NewVault(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	made := v.token(claims{Namespace: "default", Run: "r", Wait: "w1", Expires: 1})
	f.Add(made)
	f.Add(made + ".")
	f.Add(strings.Replace(made, ".", "..", 1))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := v.claims(text); err == nil && text != made {
			t.Fatalf("%q is taken", text)
		}
		if ns, err := namespaceOf(text); err == nil && !namespaceForm.MatchString(ns) {
			t.Fatalf("%q names %q", text, ns)
		}
	})
}

// FuzzVisible checks that the shown text represents everything that is there, and that nothing in
// it is invisible (SEC12).
func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x00\xff\u200bc\n\td\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pieces(text) {
			for _, r := range p.Text {
				if isHidden(r) || r == utf8.RuneError && !strings.ContainsRune(text, utf8.RuneError) {
					t.Fatalf("%q shows %q", text, p.Text)
				}
			}
			if p.Text == "" {
				t.Fatalf("%q has an empty piece", text)
			}
		}
	})
}
