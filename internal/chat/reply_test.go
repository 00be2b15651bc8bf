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
		{"byte order mark", "\uFEFF {\"ok\": true}", `{"ok": true}`},
		{"byte order mark alone", "\uFEFF", ""},
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
		{"after thoughts", "<think>maybe {\"a\": 1}</think>\n{\"a\": 3}", `{"a": 3}`},
		{"fenced after thoughts", "<think>hm</think>\nHere:\n```json\n3\n```\nDone.", "3"},
		{"a draft in thoughts", "<think>\n```json\n1\n```\n</think>\n3", "3"},
		{"fences in and after thoughts", "<think>\n```json\n1\n```\n</think>\n```json\n3\n```", "3"},
		{"several blocks", "<think>1</think>\n\n<think>2</think> 3", "3"},
		{"nested blocks", "<think>a <think>1</think> 2</think>3", "3"},
		{"the end mark alone", "hm\n```\n1\n```\n</think>\n\n3", "3"},
		{"the begin mark alone", "<think>\n{\"a\": 3}", `{"a": 3}`},
		{"thoughts without end", "<think>\nmaybe\n```json\n1\n```\n", ""},
		{"thoughts alone", "<think>1</think>", ""},
		{"prose after thoughts", "hm ```\n1\n``` </think> I cannot say", ""},
		{"empty thoughts", "<think>\n\n</think>\n\n3", "3"},
		{"an end mark in the answer", "<think>a</think>{\"html\": \"</think>\"}", `{"html": "</think>"}`},
		{"an end mark in the fenced answer", "<think>a</think>\n```\n\"</think>\"\n```", `"</think>"`},
		{"an answer with marks alone", `"<think>1</think>2"`, `"<think>1</think>2"`},
		{"thinking", "<thinking>1</thinking>3", "3"},
		{"reasoning", "<reasoning>1</reasoning>3", "3"},
		{"thought", "<thought>1</thought>3", "3"},
		{"Mistral", "[THINK]1[/THINK]3", "3"},
		{"Seed", "<seed:think>1</seed:think>3", "3"},
		{"a mark in the fenced answer alone", "Here:\n```json\n{\"html\":\"use </think> tags\"}\n```",
			`{"html":"use </think> tags"}`},
		{"a block before the end mark alone", "hm\n```\n1\n```\n</think>\nI cannot say", ""},
		{"capitals", "<Think>1</THINK>3", "3"},
		{"diamonds", "◁think▷1◁/think▷3", "3"},
		{"the end diamond alone", "1◁/think▷3", "3"},
		{"harmony with a constraint", "<|channel|>analysis<|message|>1<|end|><|start|>assistant<|channel|>final " +
			"<|constrain|>json<|message|>{\"a\":3}<|return|>", `{"a":3}`},
		{"harmony's final message alone", "<|channel|>final<|message|>3<|end|>", "3"},
		{"harmony without a begin mark", "hm<|end|><|start|>assistant<|channel|>final<|message|>3", "3"},
		{"harmony, analysis alone", "<|channel|>analysis<|message|>1<|end|>", ""},
		{"harmony", "<|channel|>analysis<|message|>1<|end|><|start|>assistant<|channel|>final<|message|>3", "3"},
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
	f.Add("<think>1</think>[THINK]2[/THINK]</think>```\n3\n```")
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := chat.JSONIn(text); ok && !json.Valid(v) {
			t.Fatalf("%q gives %q", text, v)
		}
	})
}
