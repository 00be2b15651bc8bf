package config_test

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/schema"
)

var update = flag.Bool("update", false, "write what is made of the table of keys")

// document is a configuration with its expected problems.
type document struct {
	name, text string
	// problems are the expected errors as LINE:COL code, and hints by a part of them; none means
	// that the document is valid.
	problems []string
	hint     string
	// beyondSchema is set if the schema cannot detect the problem.
	beyondSchema bool
}

func documents() []document {
	return []document{
		{name: "nothing", text: "# only a comment\n"},
		{name: "everything", text: everything},
		{name: "json", text: `{"defaultModel": "openai/gpt-5-mini", "providers": {"lab": {"base_url": ` +
			`"http://10.0.0.7:8000/v1"}}}`},
		{name: "empty sections", text: "providers:\nmodels: {}\nlimits:\nmcps:\ntoolsets:\nproviders2: \n",
			problems: []string{"6:1 unknown-key"}, hint: `"providers"`},
		{name: "a known provider as it is", text: "providers:\n  openai:\n"},
		{name: "list at the top", text: "- a\n", problems: []string{"1:1 wrong-type"}},
		{name: "unknown key", text: "default_model: x\n", problems: []string{"1:1 unknown-key"}, hint: "defaultModel"},
		{name: "unknown key of a provider", text: "providers: {a: {api_type: openai}}\n",
			problems: []string{"1:17 unknown-key"}, hint: "write protocol"},
		{name: "text for a number", text: "limits: {maxCalls: '5'}\n", problems: []string{"1:20 wrong-type"},
			hint: "without quotes"},
		{name: "number for a text", text: "defaultModel: 5\n", problems: []string{"1:15 wrong-type"}, hint: `"5"`},
		{name: "count too small", text: "limits: {maxCalls: 0}\n", problems: []string{"1:20 bad-value"}},
		{name: "count too large", text: "limits: {maxCalls: 100001}\n", problems: []string{"1:20 bad-value"}},
		{name: "half a call", text: "limits: {maxCalls: 1.5}\n", problems: []string{"1:20 wrong-type"}},
		{name: "duration without a unit", text: "limits: {modelTimeout: 90}\n", problems: []string{"1:24 wrong-type"},
			hint: "90s"},
		{name: "duration that is none", text: "limits: {modelTimeout: soon}\n", problems: []string{"1:24 bad-value"},
			hint: "1h30m"},
		{name: "no time at all", text: "limits: {modelTimeout: 0s}\n", problems: []string{"1:24 bad-value"},
			beyondSchema: true},
		{name: "parameter that cannot be omitted", text: "providers: {a: {omit: [top_p, stream_option]}}\n",
			problems: []string{"1:31 bad-value"}, hint: `"stream_options"`},
		{name: "parameter omitted twice", text: "providers: {a: {omit: [stop, stop]}}\n",
			problems: []string{"1:30 bad-value"}},
		{name: "both names of the limit omitted", text: "providers: {a: {omit: [max_completion_tokens, max_tokens]}}\n",
			problems: []string{"1:47 bad-value"}, beyondSchema: true},
		{name: "protocol", text: "providers: {a: {protocol: opnai}}\n", problems: []string{"1:27 bad-value"},
			hint: "openai"},
		{name: "address without a scheme", text: "providers: {a: {base_url: 'localhost:8080'}}\n",
			problems: []string{"1:27 bad-value"}},
		{name: "address with a password", text: "providers: {a: {base_url: 'http://u:p@host/'}}\n",
			problems: []string{"1:27 bad-value"}},
		{name: "bare key", text: "providers: {a: {key: sk-canary-1234567890}}\n",
			problems: []string{"1:22 bare-secret"}, hint: "${env.NAME}"},
		{name: "bare key after a variable", text: "providers: {a: {key: '${env.A}-1234'}}\n",
			problems: []string{"1:22 bare-secret"}},
		{name: "name with a slash", text: "providers: {a/b: {protocol: openai}}\n",
			problems: []string{"1:13 bad-value"}},
		{name: "model without a provider", text: "models: {fast: {model: m}}\n",
			problems: []string{"1:16 missing-key"}},
		{name: "model that is nothing", text: "models:\n  fast:\n",
			problems: []string{"2:8 missing-key", "2:8 missing-key"}},
		{name: "model of an unknown provider", text: "models: {fast: {provider: opnai, model: m}}\n",
			problems: []string{"1:27 unknown-name"}, hint: "openai", beyondSchema: true},
		{name: "temperature", text: "models: {fast: {provider: openai, model: m, params: {temperature: 3}}}\n",
			problems: []string{"1:67 bad-value"}},
		{name: "server without a command", text: "mcps: {a: {args: [x]}}\n", problems: []string{"1:11 missing-key"}},
		{name: "server with two", text: "mcps: {a: {command: x, remote: {url: 'http://a'}}}\n",
			problems: []string{"1:11 conflicting-keys"}},
		{name: "server by reference", text: "mcps: {a: {ref: b}}\n", problems: []string{"1:11 bad-value"}},
		{name: "server of another type", text: "mcps: {a: {type: todo}}\n", problems: []string{"1:11 bad-value"}},
		{name: "server with an unknown key", text: "mcps: {a: {command: x, arg: [y]}}\n",
			problems: []string{"1:24 unknown-key"}, hint: "args"},
		{name: "server with a secret", text: "mcps: {a: {command: x, env: {API_TOKEN: canary-1234}}}\n",
			problems: []string{"1:41 bare-secret"}, hint: "${file:PATH}", beyondSchema: true},
		{name: "header of an api with a secret",
			text: "toolsets: [{type: api, api_config: {name: x, method: GET, endpoint: 'http://a', headers: " +
				"{X-Api-Key: canary-1}}}]\n", problems: []string{"1:102 bare-secret"}, beyondSchema: true},
		{name: "key of a search", text: "toolsets: [{type: web_search, provider: brave, api_key: canary-1}]\n",
			problems: []string{"1:57 bare-secret"}, beyondSchema: true},
		{name: "variable of a script with a secret",
			text:     "toolsets: [{type: script, shell: {x: {cmd: y, description: d, env: {A_KEY: canary-1}}}}]\n",
			problems: []string{"1:76 bare-secret"}, beyondSchema: true},
		{name: "command that is a number", text: "mcps: {a: {command: 0}}\n"},
		{name: "header with a secret", text: "toolsets: [{type: mcp, remote: {url: 'http://a', headers: " +
			"{Authorization: Bearer canary-1}}}]\n", problems: []string{"1:75 bare-secret"}, beyondSchema: true},
		{name: "server with a plain variable",
			text: "mcps: {a: {command: x, env: {AUTH_TYPE: basic, MODE: fast-42, TOKEN: '${env.T}'}}}\n"},
		{name: "toolsets as a map", text: "toolsets: {type: todo}\n", problems: []string{"1:11 wrong-type"}},
		{name: "toolset without a type", text: "toolsets: [{name: a}]\n", problems: []string{"1:12 missing-key"}},
		{name: "unknown toolset", text: "toolsets: [{type: mcp, ref: missing}]\n",
			problems: []string{"1:12 unknown-ref"}, beyondSchema: true},
		{name: "unknown permission", text: "permissions: {default: maybe}\n", problems: []string{"1:24 bad-value"}},
		{name: "permission that cannot be read", text: "permissions: {deny: [ok, 'a:=x']}\n",
			problems: []string{"1:26 bad-value"}, beyondSchema: true},
		{name: "content as text", text: "telemetry: {content: 'yes'}\n", problems: []string{"1:22 wrong-type"},
			hint: "without quotes"},
		{name: "budget", text: "budgets: {run: {tokens: 0}}\n", problems: []string{"1:25 bad-value"}},
		{name: "list of hosts", text: "outbound: {allow: localhost}\n", problems: []string{"1:19 wrong-type"}},
		{name: "host that is empty", text: "outbound: {allow: ['']}\n", problems: []string{"1:20 bad-value"}},
		{name: "metrics for some", text: "server: {metrics: all}\n", problems: []string{"1:19 bad-value"}},
		{name: "body of nothing", text: "server: {limits: {body: 10}}\n", problems: []string{"1:25 bad-value"}},
		{name: "signs of life that are too few", text: "server: {takeOverAfter: 5s}\n",
			problems: []string{"1:25 bad-value"}, beyondSchema: true},
		{name: "address of the server without a scheme", text: "server: {url: hocket.example.com}\n",
			problems: []string{"1:15 bad-value"}},
		{name: "certificate without its key", text: "temporal: {address: 't:7233', tls: {cert: c.pem}}\n",
			problems: []string{"1:11 bad-value"}, beyondSchema: true},
		{name: "address of Temporal without a port", text: "temporal: {address: t.example.com}\n",
			problems: []string{"1:11 bad-value"}, beyondSchema: true},
		{name: "key of Temporal that is bare", text: "temporal: {address: 't:7233', apiKey: canary-1}\n",
			problems: []string{"1:39 bare-secret"}, hint: "${env.NAME}"},
		{name: "namespace whose address a flag gives", text: "temporal: {namespace: agents}\n"},
		{name: "path that is empty", text: "store: {path: ''}\n", problems: []string{"1:15 bad-value"}},
	}
}

const everything = `
defaultModel: fast
providers:
  openai: {key: "file:keys/openai"}
  lab:
    protocol: openai
    base_url: http://10.0.0.7:8000/v1
    requests_per_minute: 600
    tokens_per_minute: 200000
    concurrency: 8
    omit: [stream_options, response_format, max_tokens]
    key: ${env.LAB_KEY}
models:
  fast:
    provider: lab
    model: qwen3
    params: {temperature: 0.2, top_p: 1, max_tokens: 100, reasoning_effort: low, thinking_budget: -1, ` +
	`provider_options: {seed: 7}}
mcps:
  github: {command: github-mcp, args: [stdio], env: {TOKEN: "${env.GH_TOKEN}"}, timeout: 30s}
  wiki: {remote: {url: "https://wiki.example/mcp", headers: {Authorization: "Bearer ${WIKI}"}}}
toolsets:
  - {type: mcp, ref: github, name: gh}
  - {type: todo}
permissions: {allow: ["shell:cmd=git log*"], ask: [shell], deny: ["github/delete_repo"], edit: [shell], default: allow}
budgets: {run: {tokens: 100000, costUSD: 2.5, calls: 500, onReached: pause}, workflow: {tokens: 9000000, costUSD: ` +
	`50, calls: 10000, per: month}, uncounted: allow}
prices: prices.yaml
telemetry: {endpoint: "http://localhost:4318", content: false}
search: {native: true}
limits: {maxCalls: 8, modelTimeout: 5m, modelIdleTimeout: 30s, toolTimeout: 1h30m, replyBytes: 1048576, replyCalls: ` +
	`50, resultBytes: 65536, documentNodes: 500}
outbound: {allow: [localhost, "10.0.0.7:8000"]}
store: {path: runs.db}
temporal: {address: "temporal.example.com:7233", namespace: agents, tls: {cert: tls/client.pem, key: tls/client.key, ` +
	`ca: tls/ca.pem, serverName: temporal}, apiKey: "${env.TEMPORAL_KEY}"}
retention: {ended: 90d, paused: 365d}
server:
  takeOverAfter: 45s
  place: gpu1
  addr: 127.0.0.1:7788
  url: https://hocket.example.com
  hosts: ["*.internal.example.com"]
  origins: ["https://app.example.com"]
  trustedProxies: [10.0.0.7, "2001:db8::/32"]
  page: false
  metrics: public
  tls: {cert: tls/cert.pem, key: tls/key.pem}
  mcp: {workflows: [newsroom]}
  limits: {body: 1048576, input: 65536, runs: 500, runBytes: 1048576, driven: 300, failures: 20, requests: 100, ` +
	`connections: 200, streams: 50, namespaceStreams: 10, inFlight: 67108864, tokenInFlight: 33554432, bodyIdle: 20s}
  reminders: {after: 4h}
  shutdown: {delay: 5s, grace: 30s, drain: 40s}
  notifications:
    ops: {url: "http://10.0.0.7/hocket", secret: "${env.OPS_SECRET}", on: [wait.opened, run.failed], workflows: ` +
	`[triage], children: true, approveLinks: true}
`

// TestReadAndSchema checks that the reader reports what is wrong, where, and what to do, and that
// the schema accepts and rejects the same documents.
func TestReadAndSchema(t *testing.T) {
	t.Parallel()
	s, err := schema.Compile(config.Schema())
	if err != nil {
		t.Fatalf("the schema is none: %v", err)
	}
	for _, d := range documents() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			_, problems := config.Read("hocket.yaml", []byte(d.text))
			var got, hints []string
			for _, p := range problems {
				if p.Severity == diag.Error {
					got = append(got, strings.TrimPrefix(p.Span.String(), "hocket.yaml:")+" "+p.Code)
					hints = append(hints, p.Hint)
				}
			}
			if diff := cmp.Diff(got, d.problems); diff != "" {
				t.Errorf("problems (-got +want):\n%s\n%v", diff, problems)
			}
			if d.hint != "" && !strings.Contains(strings.Join(hints, "\n"), d.hint) {
				t.Errorf("hints %q lack %q", hints, d.hint)
			}
			for _, p := range problems {
				if strings.Contains(p.String(), "canary") {
					t.Errorf("a problem shows the secret: %s", p)
				}
			}
			root, _ := source.Parse("hocket.yaml", []byte(d.text))
			if root == nil || d.beyondSchema {
				return
			}
			if violations := s.Validate(root.JSON()); (len(violations) > 0) != (len(d.problems) > 0) {
				t.Errorf("the schema says %v", violations)
			}
		})
	}
}

// TestRead checks the resulting Config, with paths relative to the directory of the file.
func TestRead(t *testing.T) {
	t.Parallel()
	c, problems := config.Read("/etc/hocket/hocket.yaml", []byte(everything))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got, want := c.Providers["openai"].Key, "file:/etc/hocket/keys/openai"; got != want {
		t.Errorf("key %q, want %q", got, want)
	}
	if got, want := c.Temporal.TLS.CA, "/etc/hocket/tls/ca.pem"; got != want || !c.Temporal.IsTLS() {
		t.Errorf("the authority of Temporal is %q, not %q", got, want)
	}
	if got, want := c.Store.Path, "/etc/hocket/runs.db"; got != want {
		t.Errorf("store %q, want %q", got, want)
	}
	if got, want := c.Server.TLS.Key, "/etc/hocket/tls/key.pem"; got != want {
		t.Errorf("key of the server %q, want %q", got, want)
	}
	if got, want := c.Limits.ToolTimeout, config.Duration(90*time.Minute); got != want {
		t.Errorf("timeout %v, want %v", got, want)
	}
	if got := c.Models["fast"].Params; *got.Temperature != 0.2 || *got.ThinkingBudget != -1 ||
		string(got.ProviderOptions["seed"]) != "7" {
		t.Errorf("params %+v", got)
	}
	for name, s := range c.MCPs {
		if !s.Trusted {
			t.Errorf("server %s is not trusted", name)
		}
	}
	paths, problems := config.Read("/etc/hocket/hocket.yaml", []byte(`
providers: {a: {key: "${file:a.key}"}}
mcps:
  own: {command: ./bin/server, working_dir: work, env: {T: "${file:t.key}", U: "${ file:/abs/u.key }"}}
  far: {remote: {url: "https://${HOST}/mcp", headers: {Authorization: "Bearer ${file:h.key}"}}}
  found: {command: server}
toolsets:
  - {type: mcp, ref: own}
  - {type: mcp, command: bin/other}
  - {type: filesystem, path: notes}
  - {type: api, api_config: {name: x, method: GET, endpoint: "http://a", headers: {X-Key: "${file:k.key}"}}}
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, p := range []struct{ got, want string }{
		{paths.Providers["a"].Key, "file:/etc/hocket/a.key"},
		{paths.MCPs["own"].Command, "/etc/hocket/bin/server"}, {paths.MCPs["own"].Dir, "/etc/hocket/work"},
		{paths.MCPs["own"].Env["T"], "${file:/etc/hocket/t.key}"}, {paths.MCPs["own"].Env["U"], "${file:/abs/u.key}"},
		{paths.MCPs["far"].Remote.Headers["Authorization"], "Bearer ${file:/etc/hocket/h.key}"},
		{paths.MCPs["far"].Remote.URL, "https://${HOST}/mcp"},
		{paths.MCPs["found"].Command, "server"},
		{paths.Toolsets[0].Command, "/etc/hocket/bin/server"}, {paths.Toolsets[1].Command, "/etc/hocket/bin/other"},
		{string(paths.Toolsets[2].Options), `{"path":"/etc/hocket/notes"}`},
		{string(paths.Toolsets[3].Options),
			`{"api_config":{"endpoint":"http://a","headers":{"X-Key":"${file:/etc/hocket/k.key}"},"method":"GET",` +
				`"name":"x"}}`},
	} {
		if p.got != p.want {
			t.Errorf("got %q, want %q", p.got, p.want)
		}
	}
	if got := c.Toolsets[0]; got.Command != "github-mcp" || got.Name != "gh" || !got.Trusted {
		t.Errorf("toolset %+v", got)
	}
}

// TestFind checks the search order (SEC5): the working directory is never searched.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, flag string
		env        map[string]string
		path       string
		named      bool
	}{
		{"flag", "f.yaml", map[string]string{"HOCKET_CONFIG": "/c", "HOCKET_HOME": "/h"}, "f.yaml", true},
		{"variable", "", map[string]string{"HOCKET_CONFIG": "/c.yaml", "HOCKET_HOME": "/h"}, "/c.yaml", true},
		{"home of hocket", "", map[string]string{"HOCKET_HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "/h/hocket.yaml",
			false},
		{"folder of configurations", "", map[string]string{"XDG_CONFIG_HOME": "/x", "HOME": "/u"},
			"/x/hocket/hocket.yaml", false},
		{"folder that is relative", "", map[string]string{"XDG_CONFIG_HOME": "x", "HOME": "/u"},
			"/u/.config/hocket/hocket.yaml", false},
		{"nothing", "", nil, "", false},
		{"home that is relative", "", map[string]string{"HOME": "."}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path, named := config.Find(tt.flag, func(k string) string { return tt.env[k] })
			if path != tt.path || named != tt.named {
				t.Errorf("got %q %v, want %q %v", path, named, tt.path, tt.named)
			}
		})
	}
}

// TestLoad checks which files must exist, and that a file in the working directory is ignored
// (SEC5).
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile(config.Name, []byte("defaultModel: planted/model\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	env := func(k string) string { return map[string]string{"HOCKET_HOME": home}[k] }
	c, problems, err := config.Load("", env)
	if err != nil || len(problems) > 0 || c.Path != "" || c.DefaultModel != "" {
		t.Errorf("a default file that is not there: %+v %v %v", c, problems, err)
	}
	if _, _, err := config.Load(filepath.Join(home, "no.yaml"), env); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a named file that is not there: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, config.Name), []byte("defaultModel: a/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, err = config.Load("", env); err != nil || c.DefaultModel != "a/b" {
		t.Errorf("got %+v %v", c, err)
	}
	if _, _, err := config.Load(home, env); err == nil {
		t.Error("a folder was read")
	}
	if err := os.WriteFile(filepath.Join(home, "big.yaml"), make([]byte, config.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := config.Load(filepath.Join(home, "big.yaml"), env); err == nil ||
		!strings.Contains(err.Error(), "max_config_bytes") {
		t.Errorf("a large file: %v", err)
	}
}

// TestDocs checks that the reference in docs matches the table; -update writes it.
func TestDocs(t *testing.T) {
	t.Parallel()
	const guide = "../../docs/configuration.md"
	const begin, end = "<!-- keys: made of the table in internal/config -->\n", "<!-- end of keys -->"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the keys", guide)
	}
	want := before + begin + config.Reference() + end + after
	if *update {
		if err := os.WriteFile(guide, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), want); diff != "" {
		t.Errorf("%s (-file +table), write it with -update:\n%s", guide, diff)
	}
}

// TestRead_AllKeys checks that the test document has every key, so that no key goes unread.
func TestRead_AllKeys(t *testing.T) {
	t.Parallel()
	root, _ := source.Parse("hocket.yaml", []byte(everything))
	for _, path := range config.Keys() {
		nodes := []*source.Node{root}
		for part := range strings.SplitSeq(path, ".") {
			var next []*source.Node
			for _, n := range nodes {
				if part != "NAME" {
					next = append(next, n.Get(part))
					continue
				}
				for _, e := range n.Entries {
					next = append(next, e.Value)
				}
			}
			nodes = next
		}
		found := false
		for _, n := range nodes {
			found = found || n != nil
		}
		if !found {
			t.Errorf("the document has no %s", path)
		}
	}
}

// FuzzRead checks that no text breaks the reader, and that the schema accepts what the reader
// accepts.
func FuzzRead(f *testing.F) {
	for _, d := range documents() {
		f.Add(d.text)
	}
	s, err := schema.Compile(config.Schema())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, problems := config.Read("hocket.yaml", []byte(text))
		root, _ := source.Parse("hocket.yaml", []byte(text))
		if root == nil || root.IsNull() || problems.HasErrors() {
			return
		}
		if v := s.Validate(root.JSON()); len(v) > 0 {
			t.Errorf("the reader takes what the schema refuses: %v", v)
		}
	})
}
