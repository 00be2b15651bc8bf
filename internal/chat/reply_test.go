package chat_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
)

func TestJSONIn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"whole text", " {\"ok\": true}\n", `{"ok": true}`},
		{"scalar", "true", "true"},
		{"fenced", "```json\n{\"ok\": 1}\n```", `{"ok": 1}`},
		{"bare fence with prose", "Here:\n```\n[1]\n```\nDone.", `[1]`},
		{"CRLF", "```json\r\n1\r\n```\r\n", `1`},
		{"indented fence", "  ```json\n  {}\n  ```", `{}`},
		{"two blocks", "```\n1\n```\n```\n2\n```", ""},
		{"never closed", "```json\n1\n", ""},
		{"not JSON inside", "```json\n{ok: true}\n```", ""},
		{"prose", "the answer is {\"ok\": true}", ""},
		{"empty", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v, ok := chat.JSONIn(test.text)
			if string(v) != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %v", v, ok)
			}
		})
	}
}

func FuzzJSONIn(f *testing.F) {
	f.Add("```json\n{}\n```")
	f.Add("a ```\n1\n``` b ```")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := chat.JSONIn(text); ok && !json.Valid(v) {
			t.Fatalf("%q gives %q", text, v)
		}
	})
}
