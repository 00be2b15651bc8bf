package tool_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool"
)

func decision(t *testing.T, rules permit.Rules, args string, resources []tool.Resource) permit.Decision {
	t.Helper()
	p, err := permit.Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := p.Decide(permit.Call{Own: "x", Offered: "x", Arguments: json.RawMessage(args), Resources: resources})
	return d
}

// TestRules_AddressSpellings checks that a rule applies to an address however it is written
// (SEC13).
func TestRules_AddressSpellings(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		deny, address string
		want          permit.Decision
	}{
		"plain":            {"*evil.example/*", "https://evil.example/x", permit.Deny},
		"dot":              {"https://evil.example/*", "https://evil.example./x", permit.Deny},
		"port":             {"https://evil.example/*", "https://evil.example:443/x", permit.Deny},
		"old port":         {"http://evil.example/*", "http://evil.example:080/x", permit.Deny},
		"no port":          {"http://evil.example:80/*", "http://evil.example/x", permit.Deny},
		"user":             {"https://evil.example/*", "https://good.example@evil.example/x", permit.Deny},
		"capitals":         {"https://evil.example/*", "HTTPS://EVIL.Example/x", permit.Deny},
		"no path":          {"https://evil.example/*", "https://evil.example", permit.Deny},
		"encoded path":     {"*/admin/*", "https://a.example/%61dmin/x", permit.Deny},
		"encoded twice":    {"*/admin/*", "https://a.example/%2561dmin/x", permit.Deny},
		"dots":             {"https://a.example/admin/*", "https://a.example/pub/../admin/x", permit.Deny},
		"encoded dots":     {"https://a.example/admin/*", "https://a.example/pub/%2e%2e/admin/x", permit.Deny},
		"slashes":          {"https://a.example/admin/*", "https://a.example//admin/x", permit.Deny},
		"encoded slash":    {"*/admin/*", "https://a.example/admin%2fx", permit.Deny},
		"number":           {"http://127.0.0.1/*", "http://2130706433/x", permit.Deny},
		"hexadecimal":      {"http://127.0.0.1/*", "http://0x7f.1/x", permit.Deny},
		"octal":            {"http://127.0.0.1/*", "http://0177.0.0.1/x", permit.Deny},
		"mapped":           {"http://127.0.0.1/*", "http://[::ffff:127.0.0.1]/x", permit.Deny},
		"fragment":         {"https://a.example/x", "https://a.example/x#y", permit.Deny},
		"host alone":       {"evil.example", "https://evil.example./x?y", permit.Deny},
		"another host":     {"https://evil.example/*", "https://evil.example.org/x", permit.Allow},
		"a part of a name": {"https://evil.example/*", "https://notevil.example/x", permit.Allow},
		"in the path":      {"https://evil.example/*", "https://a.example/evil.example/", permit.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u, err := url.Parse(tc.address)
			if err != nil {
				t.Fatal(err)
			}
			args, _ := json.Marshal(map[string]any{"urls": []string{tc.address}})
			if got := decision(t, permit.Rules{Deny: []string{"x:urls=" + tc.deny}}, string(args),
				[]tool.Resource{tool.AddressOf("urls", u)}); got != tc.want {
				t.Errorf("by the address: %s, want %s", got, tc.want)
			}
			args, _ = json.Marshal(map[string]any{"in": map[string]any{"urls": tc.address}})
			guessed, err := tool.Guess(t.Context(), "", "", args)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"urls", "url"} {
				if got := decision(t, permit.Rules{Deny: []string{"x:" + name + "=" + tc.deny}}, string(args),
					guessed); got != tc.want {
					t.Errorf("by a guess, as %s: %s, want %s", name, got, tc.want)
				}
			}
		})
	}
	if guessed, err := tool.Guess(t.Context(), "", "",
		json.RawMessage(`{"url":"https://ev%69l.example/x"}`)); err != nil ||
		decision(t, permit.Rules{Deny: []string{"x:url=https://evil.example/*"}}, `{}`, guessed) != permit.Deny {
		t.Errorf("an encoded host: %v, %v; want deny", guessed, err)
	}
	for address, want := range map[string]permit.Decision{
		"https://a.example": permit.Allow, "https://A.example:443/x": permit.Allow,
		"https://a.example/../x": permit.Allow, "https://a.example@b.example/": permit.Ask,
		"https://a.example.b.example/": permit.Ask, "http://a.example/": permit.Ask,
		"https://a.example:8443/": permit.Ask, "https://b.example/?https://a.example/": permit.Ask,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		args, _ := json.Marshal(map[string]any{"urls": []string{address}})
		if got := decision(t, permit.Rules{Default: "ask", Allow: []string{"x:urls=https://a.example/*"}}, string(args),
			[]tool.Resource{tool.AddressOf("urls", u)}); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// TestRules_UnknownTools checks that for tools with unknown semantics, rules that deny apply to
// whatever a string could be interpreted as, and rules that allow apply to no more than the string
// says.
func TestRules_UnknownTools(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a link
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "private"), 0o755),
		os.MkdirAll(filepath.Join(dir, "pub"), 0o755), os.Symlink("../private", filepath.Join(dir, "pub/l")),
		os.WriteFile(filepath.Join(dir, "private/x"), nil, 0o600),
		os.Symlink("private/x", filepath.Join(dir, "plain"))); err != nil {
		t.Fatal(err)
	}
	abs := func(p string) string { return dir + "/" + p }
	for _, args := range []any{
		map[string]any{"path": "private/x"}, map[string]any{"path": "./private/x"},
		map[string]any{"path": abs("private/x")}, map[string]any{"path": "pub/../private/x"},
		map[string]any{"path": "pub/l/x"}, map[string]any{"path": abs("pub/l/x")}, map[string]any{"path": "plain"},
		map[string]any{"path": "file://" + abs("private/x")}, map[string]any{"path": "private%2fx"},
		map[string]any{"path": "%70rivate/x"}, map[string]any{"path": `private\x`}, map[string]any{"path": "PRIVATE/x"},
		map[string]any{"path": []any{"a", abs("private/x")}},
		map[string]any{"files": []any{map[string]any{"path": abs("private/x")}}},
		map[string]any{"input": `{"path":"` + abs("private/x") + `"}`},
		map[string]any{"a": map[string]any{"b": map[string]any{"PATH": "pub/l/x"}}},
		map[string]any{"path": "private/new"}, map[string]any{"path": "private//x"},
		map[string]any{"path": map[string]any{abs("private/x"): "content"}},
	} {
		raw, _ := json.Marshal(args)
		guessed, err := tool.Guess(t.Context(), dir, "", raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := decision(t, permit.Rules{Deny: []string{"x:path=private/*"}}, string(raw),
			guessed); got != permit.Deny {
			t.Errorf("%s: %s, want deny", raw, got)
		}
		if got := decision(t, permit.Rules{Deny: []string{"x:path=" + dir + "/private/*"}}, string(raw),
			guessed); got != permit.Deny {
			t.Errorf("%s, by an absolute rule: %s, want deny", raw, got)
		}
		if got := decision(t, permit.Rules{Default: "ask", Allow: []string{"x:path=pub/*", "x:path=" + dir + "/pub/*",
			"x:path=p?ain"}}, string(raw), guessed); got != permit.Ask {
			t.Errorf("%s: %s under rules that allow, want ask", raw, got)
		}
	}
	for text, want := range map[string]permit.Decision{"pub/new": permit.Allow, "pub/a b.md": permit.Allow,
		"pub/../pub/x": permit.Ask} {
		raw, _ := json.Marshal(map[string]string{"path": text})
		guessed, err := tool.Guess(t.Context(), dir, "", raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := decision(t, permit.Rules{Default: "ask", Allow: []string{"x:path=pub/*"}}, string(raw),
			guessed); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for args, want := range map[string]permit.Decision{
		`{"paths":["pub/a","private/x"]}`: permit.Deny, `{"source":"pub/a","destination":"private/new"}`: permit.Deny,
		`{"oldPath":"private/x"}`: permit.Deny, `{"file_name":"./private/x"}`: permit.Deny,
		`{"directory":"private/new"}`: permit.Deny, `{"source":"private"}`: permit.Deny, `{"a":"pub/l"}`: permit.Deny,
		`{"from":"` + abs("private/x") + `"}`: permit.Deny, `{"note":"plain"}`: permit.Deny,
		`{"items":[{"id":"private/x"}]}`: permit.Deny, `{"note":"private"}`: permit.Deny,
		`{"note":"see private/x"}`: permit.Allow, `{"source":"pub/new"}`: permit.Allow, `{"n":3}`: permit.Allow,
	} {
		guessed, err := tool.Guess(t.Context(), dir, "", json.RawMessage(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := decision(t, permit.Rules{Deny: []string{"x:path=private/*"}}, args, guessed); got != want {
			t.Errorf("a rule about path, %s: %s, want %s", args, got, want)
		}
	}
	many, _ := json.Marshal(map[string]any{"list": strings.Split(strings.Repeat("x,", 6000), ",")[:6000]})
	if _, err := tool.Guess(t.Context(), dir, "", many); err == nil {
		t.Error("more texts than are looked at are no error")
	}
	deep := `{"a":` + strings.Repeat(`{"a":`, 20) + `"private/x"` + strings.Repeat("}", 21)
	if _, err := tool.Guess(t.Context(), dir, "", json.RawMessage(deep)); err == nil {
		t.Error("texts that lie deeper than is looked at are no error")
	}
	if got := decision(t, permit.Rules{Deny: []string{"x:path=private/*"}}, deep, nil); got != permit.Ask {
		t.Errorf("arguments that lie deeper than is read: %s, want ask", got)
	}
}

// TestRules_PathAttacks tries ways around the rules `*:path=private/*` and `*:url=*evil.example*`
// with tools that are not Hocket's.
func TestRules_PathAttacks(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a link
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "private/deep"), 0o755),
		os.MkdirAll(filepath.Join(dir, "stuff"), 0o755), os.Symlink("../private", filepath.Join(dir, "stuff/l")),
		os.WriteFile(filepath.Join(dir, "private/x"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	rules := permit.Rules{Deny: []string{"*:path=private/*", "*:url=*evil.example*"}}
	for _, tc := range []struct{ tool, args string }{
		{"move_file", `{"source":"private","destination":"x"}`},
		{"move_file", `{"source":"a","destination":"private"}`},
		{"move_file", `{"source":"private/","destination":"x"}`},
		{"rename", `{"oldName":"private/x","newName":"y"}`},
		{"rename", `{"from":"./private","to":"y"}`},
		{"copy", `{"src":"private/x","dst":"y"}`},
		{"copy_directory", `{"a":"private","b":"y"}`},
		{"cp", `{"args":["-r","private","y"]}`},
		{"read", `{"file":"private/x"}`},
		{"read", `{"filename":"private/x"}`},
		{"read", `{"fileName":"PRIVATE/X"}`},
		{"read", `{"absolutePath":"DIR/private/x"}`},
		{"read", `{"uri":"file://DIR/private/x"}`},
		{"read", `{"uri":"file:///DIR/private/../private/x"}`},
		{"read", `{"resource":"private/new"}`},
		{"read_many", `{"files":[{"name":"a"},{"name":"private/x"}]}`},
		{"read_many", `{"requests":{"0":{"target_file":"private/x"}}}`},
		{"list", `{"dir":"private"}`},
		{"list", `{"directory":"stuff/l"}`},
		{"list", `{"root":"private/deep"}`},
		{"create_dir", `{"folders":["new","private/new"]}`},
		{"remove", `{"targets":["private"]}`},
		{"search", `{"in":"private/deep/.."}`},
		{"search", `{"include":"private/*.md"}`},
		{"open", `{"document":"private\\x"}`},
		{"open", `{"payload":"{\"path\":\"private/x\"}"}`},
		{"open", `{"payload":"[\"private/x\"]"}`},
		{"open", `{"path":" private/x"}`},
		{"open", `{"path":"stuff/../stuff/l/x"}`},
		{"get", `{"url":"https://evil.example/"}`},
		{"get", `{"urls":["https://ok.example/","https://evil.example/a"]}`},
		{"get", `{"link":"https://evil.example/"}`},
		{"get", `{"href":"//evil.example/x"}`},
		{"get", `{"page":"HTTPS://EVIL.EXAMPLE/x"}`},
		{"get", `{"page":"https://user@evil.example./x"}`},
		{"get", `{"sources":["https://evil.example/x"]}`},
		{"get", `{"endpoint":"evil.example"}`},
		{"get", `{"page":"https://ev%69l.example/x"}`},
	} {
		args := json.RawMessage(strings.ReplaceAll(tc.args, "DIR", dir))
		guessed, err := tool.Guess(t.Context(), dir, tc.tool, args)
		if err != nil {
			t.Fatal(err)
		}
		if got := decision(t, rules, string(args), guessed); got != permit.Deny {
			t.Errorf("%s %s: %s, want deny", tc.tool, args, got)
		}
	}
	stuff := permit.Rules{Deny: []string{"*:path=private/deep/*"}}
	for name, want := range map[string]permit.Decision{"move_file": permit.Deny, "mv": permit.Deny,
		"rm_rf":          permit.Deny,
		"list_directory": permit.Allow} {
		guessed, err := tool.Guess(t.Context(), dir, name, json.RawMessage(`{"path":"private"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := decision(t, stuff, `{"path":"private"}`, guessed); got != want {
			t.Errorf("%s of the folder above: %s, want %s", name, got, want)
		}
	}
}
