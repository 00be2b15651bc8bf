package script_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool/command"
)

// TestOutput checks that a declared output is a complete value, never part of one.
func TestOutput(t *testing.T) {
	t.Parallel()
	ts := open(t, command.Config{}, `{"shell":{
		"plain":  {"cmd":"echo a"},
		"text":   {"cmd":"printf 'a\\nb\\n\\n'", "output":"text"},
		"json":   {"cmd":"echo ' {\"a\": [1, 2.50]} '; echo noise >&2", "output":"json"},
		"mark":   {"cmd":"printf '\\357\\273\\277{\"a\":1}\\n'", "output":"json"},
		"none":   {"cmd":"true", "output":"text"},
		"broken": {"cmd":"echo '{\"a\":'", "output":"json"},
		"empty":  {"cmd":"true", "output":"json"},
		"two":    {"cmd":"echo 1 2", "output":"json"},
		"failed": {"cmd":"echo '{}'; exit 3", "output":"json"},
		"long":   {"cmd":"printf '\"'; head -c 1000000 /dev/zero | tr '\\0' x; printf '\"'", "output":"json"},
		"over":   {"cmd":"head -c 1100000 /dev/zero | tr '\\0' 1", "output":"json"}}}`)
	for name, want := range map[string]struct {
		text, structured string // prefixes
		isError          bool
	}{
		"plain": {"a", `{"exitCode":0,"stdout":"a\n"`, false},
		"text":  {"a\nb", `"a\nb"`, false},
		"json":  {" {\"a\": [1, 2.50]} \n[standard error]\nnoise", `{"a": [1, 2.50]}`, false},
		"mark":  {"\uFEFF{\"a\":1}", `{"a":1}`, false},
		"none":  {"[no output]", `""`, false},
		"broken": {"the script ran, but its output is not one JSON value, as output: json says\n{\"a\":",
			`{"exitCode":0`, true},
		"empty":  {"the script ran, but its output is not one JSON value", `{"exitCode":0`, true},
		"two":    {"the script ran, but its output is not one JSON value", `{"exitCode":0`, true},
		"failed": {"{}\n[exit status 3]", `{"exitCode":3`, true},
		"long":   {`"xxx`, `"xxx`, false},
		"over":   {"the script ran, but its output is longer than the limit of 1048576 bytes", `{"exitCode":0`, true},
	} {
		r := call(t, ts, name, map[string]any{})
		if !strings.HasPrefix(r.Text, want.text) || !strings.HasPrefix(string(r.Structured), want.structured) ||
			r.IsError != want.isError {
			t.Errorf("%s: %.100q %.100q %v, want %+v", name, r.Text, r.Structured, r.IsError, want)
		}
		if len(r.Text) > command.DefaultBytes+200 {
			t.Errorf("%s: a model reads %d bytes", name, len(r.Text))
		}
		if name == "long" && len(r.Structured) != 1_000_002 {
			t.Errorf("the value has %d bytes", len(r.Structured))
		}
	}
}
