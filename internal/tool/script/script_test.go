package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/leaktest"
	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/script"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

var background = context.Background()

func TestMain(m *testing.M) { leaktest.Main(m) }

func spec(options string) tool.Spec {
	return tool.Spec{Type: tool.TypeScript, Trusted: true, Options: json.RawMessage(options)}
}

func open(t *testing.T, cfg command.Config, options string) *script.Toolset {
	t.Helper()
	ts, err := script.New(cfg, spec(options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

func call(t interface {
	Helper()
	Fatal(args ...any)
}, ts *script.Toolset, name string, args any) tool.Result {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := ts.Tools(background)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			r, err := tl.Call(background, tool.Call{Name: name, Arguments: b})
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
	}
	t.Fatal("no tool " + name)
	return tool.Result{}
}

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			t.Helper()
			return open(t, command.Config{},
				`{"shell":{"greet":{"cmd":"echo hello $name","args":{"name":{"type":"string"}}}}}`)
		},
		Good: tool.Call{Name: "greet", Arguments: json.RawMessage(`{"name":"you"}`)},
	})
}

// TestUntrusted checks that no untrusted spec is served (SEC4, SEC5).
func TestUntrusted(t *testing.T) {
	t.Parallel()
	sp := spec(`{"shell":{"a":{"cmd":"echo"}}}`)
	sp.Trusted = false
	if _, err := script.New(command.Config{}, sp); !errors.As(err, new(*tool.UntrustedError)) {
		t.Errorf("New: %v", err)
	}
}

type obj = map[string]any

func TestCalls(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ts := open(t, command.Config{Dir: dir, Expand: func(s string) (string, error) {
		return strings.ReplaceAll(s, "${KEY}", "canary-secret"), nil
	}}, `{
		"env": {"COMMON": 8080, "BOTH": true},
		"shell": {
			"greet":  {"cmd": "echo \"hello $name\"", "args": {"name": {"type": "string"}}},
			"types":  {"cmd": "echo \"$s $i $b $l ${o-unset}\"", "args": {"s": {}, "i": {"type": "integer"}, "b": `+
		`{"type": "boolean"}, "l": {"type": "array"}, "o": {}}, "required": []},
			"env":    {"cmd": "echo \"$COMMON $BOTH $API_TOKEN ${HOCKET_DB-none}\"", "env": {"BOTH": "own", `+
		`"API_TOKEN": "${KEY}"}},
			"where":  {"cmd": "pwd", "working_dir": "/"},
			"here":   {"cmd": "touch here"},
			"fails":  {"cmd": "echo half; echo why >&2; exit 3"},
			"words":  {"argv": ["printf", "%s|", "{a}", "{b}"], "args": {"a": {}, "b": {}}, "required": ["a"]},
			"after":  {"argv": ["printf", "%s|", "--", "{a}"], "args": {"a": {}}},
			"bare":   {"argv": ["printf", "$HOME"]}
		}}`)
	for name, c := range map[string]struct {
		script  string
		args    obj
		want    string
		isError bool
	}{
		"text": {"greet", obj{"name": "you"}, "hello you", false},
		"all types": {"types", obj{"s": "a  b", "i": 12345678901234567, "b": true, "l": []any{1, "x"},
			"o": "set"}, `a  b 12345678901234567 true [1,"x"] set`, false},
		"left out":      {"types", obj{"s": "x", "o": nil}, "x    unset", false},
		"environment":   {"env", nil, "8080 own [redacted] none", false},
		"folder":        {"where", nil, "/", false},
		"fails":         {"fails", nil, "half\n[standard error]\nwhy\n[exit status 3]", true},
		"words":         {"words", obj{"a": "x y", "b": "$(id)"}, "x y|$(id)|", false},
		"word left out": {"words", obj{"a": "x"}, "x|", false},
		"option": {"words", obj{"a": "-v"}, `the script was not run: argument "a" begins with a dash, and ` +
			`the program would read it as an option`, true},
		"after dashes": {"after", obj{"a": "-v"}, "--|-v|", false},
		"no shell":     {"bare", nil, "$HOME", false},
		"not declared": {"greet", obj{"name": "x", "LD_PRELOAD": "/evil.so"},
			`the script was not run: it has no argument "LD_PRELOAD"`, true},
		"NUL": {"greet", obj{"name": "a\x00b"},
			`the script was not run: argument "name" contains a NUL character, which programs do not accept`, true},
		"too long": {"greet", obj{"name": strings.Repeat("x", 100_001)},
			`the script was not run: argument "name" has 100001 bytes, more than the limit of 100000`, true},
		"just not so long": {"greet", obj{"name": strings.Repeat("x", 10_000)}, "hello " + strings.Repeat("x", 10_000),
			false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := call(t, ts, c.script, c.args); r.Text != c.want || r.IsError != c.isError {
				t.Errorf("got %+v, want %q", r, c.want)
			}
		})
	}
	if call(t, ts, "here", nil); !exists(filepath.Join(dir, "here")) {
		t.Error("a script does not run in the folder of Config")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// injections holds values that would run something if they were ever treated as code.
var injections = []string{
	"$(touch hacked)", "`touch hacked`", "; touch hacked", "| touch hacked", "|| touch hacked", "&& touch hacked",
	"& touch hacked", "\ntouch hacked\n", "\r\ntouch hacked",
	"'; touch hacked; '", `"; touch hacked; "`, `"$(touch hacked)"`, `'$(touch hacked)'`, `\$(touch hacked)`,
	`\\$(touch hacked)`, "${IFS}touch${IFS}hacked", "$((touch hacked))",
	"<(touch hacked)", ">hacked", ">>hacked", "< /etc/passwd > hacked", "#", "$'\\x74ouch hacked'",
	"${name:=$(touch hacked)}", "${x:-`touch hacked`}", "() { :;}; touch hacked",
	"$(rm -rf ~)", "~", "*", "{a,b}", "!touch hacked", "%0atouch hacked", "{{name}}", "{name}", "$name", "${name}",
	"$$name", "-e touch hacked", "--", "EOF\ntouch hacked\nEOF",
	"eval touch hacked", "\u2028touch hacked", "；touch hacked", "\x1b]0;touch hacked\x07", "a\\", "a'", `a"`, "a`",
	"$(", "${", "))", "<<X", "touch hacked &", "x=1 touch hacked",
}

// TestInjections checks that an argument written by a model is data to the shell, in every place
// where a command uses it, whatever it contains (SEC3, SEC13).
func TestInjections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ts := open(t, command.Config{Dir: dir}, `{"shell":{
		"quoted": {"cmd": "printf %s \"$name\"", "args": {"name": {"type": "string"}}},
		"braces": {"cmd": "printf %s \"${name}\"; : \"$(printf %s \"$name\")\"", "args": {"name": {"type": "string"}}},
		"bare":   {"cmd": "printf '%s ' $name", "args": {"name": {"type": "string"}}},
		"here":   {"cmd": "cat <<EOF\n$name\nEOF", "args": {"name": {"type": "string"}}},
		"word":   {"argv": ["printf", "%s", "--", "{name}"], "args": {"name": {"type": "string"}}}}}`)
	for _, value := range injections {
		for _, name := range []string{"quoted", "braces", "bare", "here", "word"} {
			r := call(t, ts, name, obj{"name": value})
			want, got := value, stdout(t, r)
			switch name {
			case "here":
				want += "\n"
			case "word":
				want = "--" + value
			case "bare":
				continue // split and globbed, but nothing runs
			}
			if got != want || r.IsError {
				t.Errorf("%s: %q came out as %q, error %v", name, value, got, r.IsError)
			}
		}
	}
	if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
		t.Errorf("something was run: %v, %v", found, err)
	}
}

func stdout(t interface {
	Helper()
	Fatal(args ...any)
}, r tool.Result) string {
	t.Helper()
	var a command.Answer
	if err := json.Unmarshal(r.Structured, &a); err != nil {
		t.Fatal(err)
	}
	return a.Stdout
}

// TestArguments_Random checks the property that any value arrives unchanged (SEC3).
func TestArguments_Random(t *testing.T) {
	t.Parallel()
	ts := open(t, command.Config{Dir: t.TempDir()}, `{"shell":{"a":{"cmd":"printf %s \"$v\"","args":{"v":{}}}}}`)
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.StringMatching("[ -~\n\t\u00e9$`\"'\\\\;|&(){}]{1,40}").Draw(rt, "v")
		if got := stdout(rt, call(rt, ts, "a", obj{"v": v})); got != v {
			rt.Fatalf("%q came out as %q", v, got)
		}
	})
}

// TestProblems checks that declarations in a document are checked before anything runs: at their
// positions by validate, and when the toolset is opened.
func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ options, want string }{
		"nothing":        {`{}`, "no commands are declared"},
		"no command":     {`{"shell":{"a":{}}}`, `script "a" needs a cmd or an argv`},
		"both":           {`{"shell":{"a":{"cmd":"x","argv":["x"]}}}`, `script "a" has both cmd and argv`},
		"unknown option": {`{"shel":{}}`, `unknown field "shel"`},
		"unknown key":    {`{"shell":{"a":{"command":"x"}}}`, `unknown field "command"`},
		"name":           {`{"shell":{"a b":{"cmd":"x"}}}`, `script "a b": the name has letters`},
		"argument's name": {`{"shell":{"a":{"cmd":"x","args":{"my-arg":{}}}}}`,
			`argument "my-arg" cannot be the name of a variable`},
		"assignment": {`{"shell":{"a":{"cmd":"x","args":{"a=b":{}}}}}`,
			`argument "a=b" cannot be the name of a variable`},
		"empty": {`{"shell":{"a":{"cmd":"x","args":{"":{}}}}}`,
			`argument "" cannot be the name of a variable`},
		"function": {`{"shell":{"a":{"cmd":"x","args":{"BASH_FUNC_ls%%":{}}}}}`,
			`cannot be the name of a variable`},
		"also in env": {`{"shell":{"a":{"cmd":"x","args":{"b":{}},"env":{"b":"1"}}}}`,
			`"b" is both an argument and a variable of env`},
		"no schema": {`{"shell":{"a":{"cmd":"x","args":{"b":"string"}}}}`, `argument "b" must be a map`},
		"required": {`{"shell":{"a":{"cmd":"x","required":["b"]}}}`,
			`requires "b", which is not among its args`},
		"unknown word": {`{"shell":{"a":{"argv":["x","{b}"]}}}`, `argv names {b}, which is not among its args`},
		"part of a word": {`{"shell":{"a":{"argv":["x","--b={b}"],"args":{"b":{}}}}}`,
			`"--b={b}" contains an argument within a word`},
		"program": {`{"shell":{"a":{"argv":["{b}"],"args":{"b":{}}}}}`,
			`the program itself cannot be an argument`},
		"policy": {`{"shell":{"a":{"cmd":"x","policy":"maybe"}}}`,
			`policy must be retry, ask, skip or fail, got "maybe"`},
		"output":            {`{"shell":{"a":{"cmd":"x","output":"yaml"}}}`, `output must be text or json, got "yaml"`},
		"variable of env":   {`{"shell":{"a":{"cmd":"x","env":{"a=b":"1"}}}}`, `"a=b" is not a valid variable name`},
		"schema of a value": {`{"shell":{"a":{"cmd":"x","args":{"b":null}}}}`, `argument "b" must be a map`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := script.New(command.Config{}, spec(c.options)); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("New: %v, want %q", err, c.want)
			}
			entry := `{"type":"script",` + strings.TrimPrefix(c.options, "{")
			if c.options == "{}" {
				entry = `{"type":"script"}`
			}
			if err := json.Unmarshal([]byte(entry), new(tool.Spec)); err == nil {
				t.Error("a document with it is accepted")
			}
		})
	}
	for _, reserved := range []string{"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "IFS", "ENV",
		"BASH_ENV", "HOME", "SHELLOPTS", "PS4", "PYTHONPATH", "NODE_OPTIONS",
		"GIT_SSH_COMMAND", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "HOCKET_DB", "GODEBUG", "PAGER", "EDITOR",
		"LESSOPEN"} {
		if _, err := script.New(command.Config{}, spec(`{"shell":{"a":{"cmd":"x","args":{"`+reserved+
			`":{}}}}}`)); err == nil || !strings.Contains(err.Error(), "changes how programs behave") {
			t.Errorf("%s: %v", reserved, err)
		}
	}
}

// TestSet_ScriptTools checks that a Set checks types before anything runs, and that the
// description, policy and required arguments of a script are those of its entry (P12).
func TestSet_ScriptTools(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set, err := tool.NewSet(tool.Config{
		Types: map[string]tool.Type{tool.TypeScript: script.Type(command.Config{Dir: dir})},
		Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec(`{"shell":{
			"count":{"cmd":"touch ran","args":{"n":{"type":"integer","minimum":1},"unit":{"enum":["kg","g"]}}},
			"look":{"cmd":"true","policy":"retry"},"go-on":{"cmd":"true","description":"Goes on"}}}`)}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	defs, err := set.Defs(t.Context(), "a")
	if err != nil || len(defs) != 3 || defs[0].Description != "Runs touch ran" || defs[1].Name != "go-on" ||
		defs[1].Description != "Goes on" {
		t.Errorf("%+v, %v", defs, err)
	}
	for name, want := range map[string]tool.Policy{"count": tool.PolicyAsk, "look": tool.PolicyRetry} {
		if got, err := set.Policy(t.Context(), tool.Call{Agent: "a", Name: name}); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, args := range []string{`{}`, `{"n":0,"unit":"g"}`, `{"n":"1","unit":"g"}`, `{"n":1,"unit":"t"}`, `{"n":1}`,
		`{"n":1,"unit":"g","PATH":"/evil"}`} {
		_, err := set.Call(t.Context(), tool.Call{Agent: "a", Name: "count", Arguments: json.RawMessage(args)})
		if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindInvalidArguments {
			t.Errorf("%s: %v", args, err)
		}
	}
	if exists(filepath.Join(dir, "ran")) {
		t.Error("the script ran")
	}
}

// TestIdempotencyKey checks that a script gets the idempotency key of its call, the same for each
// attempt (P12, D6).
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	ts := open(t, command.Config{Dir: t.TempDir()}, `{"shell":{"say":{"cmd":"printf '<%s>' \"$`+tool.EnvKey+`\""},
		"argv":{"argv":["sh","-c","printf '<%s>' \"$`+tool.EnvKey+`\""]}}}`)
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tools {
		for _, key := range []string{"run/step/call", "run/step/call", "other"} {
			r, err := one.Call(t.Context(), tool.Call{Name: one.Def().Name, Key: key, Arguments: json.RawMessage(`{}`)})
			if err != nil || r.Text != "<"+key+">" {
				t.Errorf("%s with %q got %q, %v", one.Def().Name, key, r.Text, err)
			}
		}
	}
}
