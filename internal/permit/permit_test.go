package permit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/permit"
)

func decide(t *testing.T, c permit.Call, rules ...permit.Rules) permit.Decision {
	t.Helper()
	p, err := permit.Compile(rules...)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := p.Decide(c)
	return d
}

func shell(cmd string) permit.Call {
	args, _ := json.Marshal(map[string]string{"cmd": cmd})
	return permit.Call{Own: "shell", Offered: "shell", Toolset: "shell", Arguments: args}
}

// TestDecide checks SEC12 and SEC13: deny takes precedence over ask, and ask over allow; the
// stricter of two sets applies; a default covers calls that no pattern names.
func TestDecide(t *testing.T) {
	t.Parallel()
	read := permit.Call{Own: "read_file", Offered: "fs_read_file", Toolset: "fs",
		Arguments: json.RawMessage(`{"path":"/home/u/a.txt","n":3,"deep":true}`)}
	for name, tc := range map[string]struct {
		rules []permit.Rules
		call  permit.Call
		want  permit.Decision
	}{
		"nothing said": {nil, read, permit.Allow},
		"zero rules":   {[]permit.Rules{{}}, read, permit.Allow},
		"default ask":  {[]permit.Rules{{Default: "ask"}}, read, permit.Ask},
		"default deny": {[]permit.Rules{{Default: "deny"}}, read, permit.Deny},
		"allowed under ask": {[]permit.Rules{{Default: "ask", Allow: []string{"fs_read_file"}}}, read,
			permit.Allow},
		"allowed under deny": {[]permit.Rules{{Default: "deny", Allow: []string{"fs/*"}}}, read, permit.Allow},
		"ask over allow": {[]permit.Rules{{Allow: []string{"*"}, Ask: []string{"fs/read_file"}}}, read,
			permit.Ask},
		"deny over ask": {
			[]permit.Rules{{Allow: []string{"*"}, Ask: []string{"*"}, Deny: []string{"fs/read_*"}}}, read, permit.Deny,
		},
		"own name, broadly":  {[]permit.Rules{{Deny: []string{"read_file"}}}, read, permit.Deny},
		"own name, narrowly": {[]permit.Rules{{Default: "ask", Allow: []string{"read_file"}}}, read, permit.Ask},
		"mcp form": {[]permit.Rules{{Default: "ask", Allow: []string{"mcp:fs:read_*"}}}, read,
			permit.Allow},
		"case, broadly": {[]permit.Rules{{Deny: []string{"READ_file:PATH=x", "READ_file:path=/HOME/*"}}},
			read, permit.Deny},
		"case, narrowly": {[]permit.Rules{{Default: "ask", Allow: []string{"FS/read_file"}}}, read,
			permit.Ask},
		"two arguments": {[]permit.Rules{{Default: "ask", Allow: []string{"fs/*:path=/home/*:n=3"}}}, read,
			permit.Allow},
		"one of two": {[]permit.Rules{{Default: "ask", Allow: []string{"fs/*:path=/home/*:n=4"}}}, read,
			permit.Ask},
		"no text": {[]permit.Rules{{Default: "ask", Allow: []string{"fs/*:deep=true"}}}, read,
			permit.Allow},
		"no such argument": {[]permit.Rules{{Deny: []string{"fs/*:other=*"}}}, read, permit.Allow},
		"another argument": {[]permit.Rules{{Allow: []string{"fs/read_file:path=/srv/*"}}}, read, permit.Ask},
		"the operator is strict": {[]permit.Rules{{Deny: []string{"fs/*"}}, {Allow: []string{"*"}}}, read,
			permit.Deny},
		"the document is strict": {[]permit.Rules{{Allow: []string{"*"}}, {Ask: []string{"fs/*"}}}, read, permit.Ask},
		"a document loosens none": {[]permit.Rules{{Default: "ask"}, {Allow: []string{"*"}, Default: "allow"}}, read,
			permit.Ask},
		"part of a name": {[]permit.Rules{{Deny: []string{"read"}}}, read, permit.Allow},
		"address": {
			[]permit.Rules{{Default: "ask", Allow: []string{"fetch:url=https://example.com/*"}}},
			permit.Call{Own: "fetch", Offered: "fetch",
				Arguments: json.RawMessage(`{"url":"https://example.com/?a=1&b=2"}`)}, permit.Allow,
		},
		"list, item": {[]permit.Rules{{Deny: []string{"fetch:urls=http://*"}}}, permit.Call{Own: "fetch",
			Offered: "fetch", Arguments: json.RawMessage(`{"urls":["https://a","http://b"]}`)}, permit.Deny},
		"list, joined": {[]permit.Rules{{Deny: []string{"run:argv=rm *"}}}, permit.Call{Own: "run",
			Offered: "run", Arguments: json.RawMessage(`{"argv":["rm","-rf","/"]}`)}, permit.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := decide(t, tc.call, tc.rules...); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestShell checks the patterns of docker-agent's own example, and attempts to get around such
// patterns.
func TestShell(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{
		Deny:  []string{"shell:cmd=rm *", "shell:cmd=sudo *", "shell:cmd=git push --force*"},
		Allow: []string{"shell:cmd=ls *", "shell:cmd=pwd", "shell:cmd=git log*", "shell:cmd=echo *"},
	}
	for cmd, want := range map[string]permit.Decision{
		"ls -la": permit.Allow, "pwd": permit.Allow, "git log --oneline": permit.Allow, "ls": permit.Ask,
		"pwd ": permit.Ask, "LS -la": permit.Ask, "make": permit.Ask,
		"rm -rf /": permit.Deny, "  rm   -rf /": permit.Deny, "RM -rf /": permit.Deny, "sudo ls": permit.Deny,
		"git push --force origin": permit.Deny,
		"ls x; rm -rf /":          permit.Deny, "ls x && rm y": permit.Deny, "ls x\nrm y": permit.Deny,
		"echo $(rm y)": permit.Deny, "echo `rm y`": permit.Deny, "ls x | sudo sh": permit.Deny,
		"ls x; make": permit.Ask, "ls x & make": permit.Ask, "ls x | sh": permit.Ask, "ls $(make)": permit.Ask,
		"ls `make`": permit.Ask, "ls x > /etc/passwd": permit.Ask,
		"ls < /etc/passwd": permit.Ask, "ls x\nmake": permit.Ask, "ls x\rmake": permit.Ask, "echo ${IFS}": permit.Ask,
		"echo {a,b}": permit.Ask, "git log; make": permit.Ask, "ls ../../etc": permit.Ask,
	} {
		if got := decide(t, shell(cmd), rules); got != want {
			t.Errorf("%q: %s, want %s", cmd, got, want)
		}
	}
	exec := permit.Call{Own: "exec", Offered: "exec", Toolset: "shell",
		Arguments: json.RawMessage(`{"argv":["rm","-rf","/"]}`)}
	if got := decide(t, exec, rules); got != permit.Deny {
		t.Errorf("exec of the toolset shell: %s, want deny", got)
	}
	if got := decide(t, shell("ls; make"),
		permit.Rules{Default: "ask", Allow: []string{"shell:cmd=*"}}); got != permit.Allow {
		t.Errorf("exactly `*` allows everything, got %s", got)
	}
}

// TestPaths checks that a path is judged by its target: an allowed folder does not allow its
// siblings, and a denied one cannot be reached by a detour.
func TestPaths(t *testing.T) {
	t.Parallel()
	write := func(path string) permit.Call {
		args, _ := json.Marshal(map[string]string{"path": path})
		return permit.Call{Own: "write_file", Offered: "write_file", Arguments: args}
	}
	rules := permit.Rules{Deny: []string{"write_file:path=/etc/*"}, Allow: []string{"write_file:path=/srv/*"}}
	for path, want := range map[string]permit.Decision{
		"/srv/a": permit.Allow, "/srv/a..b": permit.Allow, "/srv/../home/x": permit.Ask, "/srv/..": permit.Ask,
		"/etc/passwd": permit.Deny, "/srv/../etc/passwd": permit.Deny,
		"//etc//passwd": permit.Deny, "/./etc/passwd": permit.Deny, "/home/x": permit.Ask,
	} {
		if got := decide(t, write(path), rules); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestArguments_Spellings checks SEC12: other spellings of arguments. JSON decoders differ about
// the case of names, so either of two may count, and a number has many spellings.
func TestArguments_Spellings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules permit.Rules
		args  string
		want  permit.Decision
	}{
		"forbidden, name in capitals": {permit.Rules{Deny: []string{"x:cmd=rm *"}}, `{"CMD":"rm -rf /"}`,
			permit.Deny},
		"forbidden, as another command": {permit.Rules{Deny: []string{"x:cmd=rm *"}}, `{"Argv":["rm","-rf"]}`,
			permit.Deny},
		"forbidden, a second spelling": {permit.Rules{Deny: []string{"x:path=/etc/*"}},
			`{"path":"/srv/a","pAth":"/etc/passwd"}`, permit.Deny},
		"forbidden, a long s": {permit.Rules{Deny: []string{"x:task=drop*"}}, `{"taſk":"drop it"}`,
			permit.Deny},
		"asked about, name in capitals": {permit.Rules{Ask: []string{"x:path=/etc/*"}}, `{"PATH":"/etc/passwd"}`,
			permit.Ask},
		"allowed, a second spelling": {permit.Rules{Default: "ask", Allow: []string{"x:path=/srv/*"}},
			`{"path":"/srv/a","pAth":"/etc/passwd"}`, permit.Ask},
		"allowed, a second, not for *": {permit.Rules{Default: "ask", Allow: []string{"x"}},
			`{"path":"/srv/a","pAth":"/etc/passwd"}`, permit.Allow},
		"allowed, another spelling": {permit.Rules{Default: "ask", Allow: []string{"x:path=/srv/*"}},
			`{"PATH":"/srv/a"}`, permit.Ask},
		"forbidden number, with exponent": {permit.Rules{Deny: []string{"x:amount=1000"}}, `{"amount":1e3}`,
			permit.Deny},
		"forbidden number, with fraction": {permit.Rules{Deny: []string{"x:amount=1000"}}, `{"amount":1000.0}`,
			permit.Deny},
		"forbidden number, as text": {permit.Rules{Deny: []string{"x:amount=1000"}}, `{"amount":"1E+3"}`,
			permit.Deny},
		"forbidden number, in a list": {permit.Rules{Deny: []string{"x:amount=1000"}}, `{"amount":[1,1.0e3]}`,
			permit.Deny},
		"allowed number, otherwise": {permit.Rules{Default: "ask", Allow: []string{"x:amount=1000"}},
			`{"amount":1e3}`, permit.Ask},
		"forbidden folder, by a dot": {permit.Rules{Deny: []string{"x:path=secrets/*"}},
			`{"path":"./secrets/key"}`, permit.Deny},
		"forbidden path, in a list": {permit.Rules{Deny: []string{"x:path=secrets/*"}},
			`{"paths":["a","./secrets/key"]}`, permit.Deny},
		"forbidden path, its source": {permit.Rules{Deny: []string{"x:path=secrets/*"}},
			`{"move":{"sourceFile":"secrets/key"}}`, permit.Deny},
		"forbidden path, as content": {permit.Rules{Deny: []string{"x:path=*secrets*"}},
			`{"files":[{"path":"a","content":"secrets"}]}`, permit.Allow},
		"forbidden address, in a list": {permit.Rules{Ask: []string{"x:url=http://*"}},
			`{"urls":["https://a","http://b"]}`, permit.Ask},
		"forbidden address, as a link": {permit.Rules{Ask: []string{"x:urls=http://*"}}, `{"href":"http://b"}`,
			permit.Ask},
		"forbidden folder, by its slash": {permit.Rules{Deny: []string{"x:path=secrets"}}, `{"path":"secrets/"}`,
			permit.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := decide(t, permit.Call{Own: "x", Offered: "x", Arguments: json.RawMessage(tc.args)},
				tc.rules); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", " ", "a ", "/x", "a/", "a:b", "a:b=[", "[a", ":cmd=x", "mcp::x", "mcp:x:", `a\`} {
		problems := permit.Rules{Allow: []string{"fine"}, Ask: []string{"fine/*", bad}}.Problems()
		if len(problems) != 1 || problems[0].List != "ask" || problems[0].Index != 1 ||
			!strings.HasPrefix(problems[0].Error(), "permissions: ask[1]: ") {
			t.Errorf("%q: %v, want a problem of ask[1]", bad, problems)
		}
		if _, err := permit.Compile(permit.Rules{Deny: []string{bad}}); err == nil {
			t.Errorf("%q compiles", bad)
		}
	}
	if p := (permit.Rules{Default: "maybe"}).Problems(); len(p) != 1 || p[0].List != "default" {
		t.Errorf("default: %v", p)
	}
	for _, good := range []string{"*", "shell", "read_*", "a/b", "a/*", "mcp:a:b_*", "shell:cmd=ls*:cwd=.",
		"shell:cmd=", "fetch:url=https://x:80/[a-z]?*", `a\*`} {
		if p := (permit.Rules{Deny: []string{good}}).Problems(); p != nil {
			t.Errorf("%q: %v", good, p[0])
		}
	}
}

// TestMerge_StricterRule checks that a second set of rules only ever makes a decision stricter,
// whatever it contains.
func TestMerge_StricterRule(t *testing.T) {
	t.Parallel()
	patterns := []string{"*", "shell", "shell:cmd=ls*", "sh*", "shell/*", "other", "shell:cmd=*x*"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) permit.Rules {
			list := func(name string) []string {
				return rapid.SliceOfN(rapid.SampledFrom(patterns), 0, 3).Draw(rt, label+name)
			}
			return permit.Rules{Allow: list("allow"), Ask: list("ask"), Deny: list("deny"),
				Default: rapid.SampledFrom([]string{"", "allow", "ask", "deny"}).Draw(rt, label+"default")}
		}
		a, b := draw("a"), draw("b")
		c := shell(rapid.StringMatching(`[lsx;. ]{0,8}`).Draw(rt, "cmd"))
		one, other, both := decide(t, c, a), decide(t, c, b), decide(t, c, a, b)
		if both != max(one, other) {
			rt.Fatalf("%s and %s make %s", one, other, both)
		}
	})
}

func FuzzDecide(f *testing.F) {
	f.Add("shell:cmd=ls*", "ls; rm")
	f.Add("a[^]b]*?:x=\\", "..")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		p, err := permit.Compile(permit.Rules{Default: "ask", Allow: []string{pattern}})
		if err != nil {
			return
		}
		d, _ := p.Decide(shell(value))
		if d == permit.Allow && strings.HasPrefix(pattern, "shell:cmd=") && pattern != "shell:cmd=*" &&
			strings.ContainsAny(value, ";|&`") {
			t.Errorf("%q allows %q", pattern, value)
		}
	})
}

// TestShell_ExpensiveScripts checks SEC17: deliberately expensive scripts are judged in limited
// work, and never pass unread.
func TestShell_ExpensiveScripts(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *", "shell:cmd=*a*b*c*d*e*"}}
	for name, script := range map[string]string{
		"long": strings.Repeat("echo x;", 100_000), "words of env": "env" + strings.Repeat(" a", 8000) + " rm x",
		"env in env": strings.Repeat("env ", 4000) + "rm x", "braces": strings.Repeat("{a,b}", 2000) + " x",
		"deep substitutions": strings.Repeat("$(", 2000) + "rm x" + strings.Repeat(")", 2000),
		"deep subshells":     strings.Repeat("( ", 8000) + "rm x" + strings.Repeat(" )", 8000),
		"unknown":            strings.Repeat("$x ", 1000), "sequence": "echo {1..1000000000}; rm x",
		"evals": strings.Repeat("eval ", 400) + "rm x", "quotes": "sh -c '" + strings.Repeat("sh -c \"", 300) + "'",
		"long word": "env -" + strings.Repeat("x y", 5000),
	} {
		if got := decide(t, shell(script), rules); got == permit.Allow {
			t.Errorf("%s: allowed", name)
		}
	}
}

// TestRules_ToolsetType checks SEC13: deny and ask rules about a type match a toolset that a
// document renames.
func TestRules_ToolsetType(t *testing.T) {
	t.Parallel()
	call := permit.Call{Own: "exec", Offered: "exec", Toolset: "helpers", Type: "shell",
		Arguments: json.RawMessage(`{"argv":["rm","x"]}`)}
	for _, rule := range []string{"shell", "shell:cmd=rm *", "shell/*", "shell:*", "shell/exec", "SHELL", "helpers",
		"helpers/exec"} {
		for want, rules := range map[permit.Decision]permit.Rules{permit.Deny: {Deny: []string{rule}},
			permit.Ask: {Ask: []string{rule}}} {
			if got := decide(t, call, rules); got != want {
				t.Errorf("%s: %s, want %s", rule, got, want)
			}
		}
	}
	for _, rule := range []string{"shell/*", "shell:*", "shell"} {
		if got := decide(t, call, permit.Rules{Allow: []string{rule}, Default: "deny"}); got != permit.Deny {
			t.Errorf("allow %s: %s, want deny", rule, got)
		}
	}
}
