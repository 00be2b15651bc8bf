package tool_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestAccess checks that what a document would do on this machine is shown line by line, with the
// folders it would use, that a spec that was not approved is rejected, and that an approval covers
// exactly these options (SEC4, SEC5).
func TestAccess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typ, options string
		want         []string
	}{
		"think": {tool.TypeThink, ``, nil},
		"files": {tool.TypeFilesystem, ``,
			[]string{"read and write files under /project (toolset filesystem)"}},
		"files, read only": {tool.TypeFilesystem, `{"read_only":true,"path":"a/../b"}`,
			[]string{"read files under /project/b (toolset filesystem)"}},
		"files elsewhere": {tool.TypeFilesystem, `{"path":"/etc"}`,
			[]string{"read and write files under /etc (toolset filesystem)"}},
		"after edits": {tool.TypeFilesystem, `{"post_edit":[{"path":"*.go","cmd":"gofmt -w \"${file}\"\nrm x"}]}`,
			[]string{
				"read and write files under /project (toolset filesystem)",
				`run gofmt -w "${file}"; rm x after edits of *.go (toolset filesystem)`}},
		"shell": {tool.TypeShell, `{"env":{"B":"${env.KEY}","A":"1"},"working_dir":"w"}`,
			[]string{"run any command in /project/w with A=1 B=${env.KEY} (toolset shell)"}},
		"programs": {tool.TypeShell, `{"commands":["git","go"]}`,
			[]string{"run git, go with any arguments in /project (toolset shell)"}},
		"scripts": {
			tool.TypeScript,
			`{"shell":{"b":{"cmd":"echo b","env":{"X":"1"}},"a":{"argv":["ls","{dir}"],"working_dir":"/tmp"}}}`,
			[]string{
				"run ls {dir} in /tmp (toolset script)", "run echo b in /project with X=1 (toolset script)"}},
		"no scripts": {tool.TypeScript, ``, []string{"run scripts (toolset script)"}},
		"unreadable": {tool.TypeShell, `{"commands":"git"}`, []string{"run any command in /project (toolset shell)",
			`use these options: {"commands":"git"} (toolset shell)`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sp := tool.Spec{Type: c.typ, Options: json.RawMessage(c.options)}
			if d := cmp.Diff(c.want, tool.Access([]tool.Spec{sp, sp}, "/project")); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			_, refused := errors.AsType[*tool.UntrustedError](sp.CheckTrusted())
			if wants := len(c.want) > 0; refused != wants || (tool.TrustHash([]tool.Spec{sp}) != "") != wants {
				t.Errorf("refused %v, hash %q; want them for what needs a yes alone", refused,
					tool.TrustHash([]tool.Spec{sp}))
			}
			sp.Trusted = true
			if err := sp.CheckTrusted(); err != nil {
				t.Errorf("trusted: %v", err)
			}
		})
	}
}

func TestTrustHashCoversOptions(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, options := range []string{`{"path":"a"}`, `{"path":"b"}`, `{"path":"a","read_only":true}`,
		`{"path":"a","read_only":false}`, `{"path":"a","post_edit":[{"path":"*","cmd":"x"}]}`} {
		hash := tool.TrustHash([]tool.Spec{{Type: tool.TypeFilesystem, Options: json.RawMessage(options)}})
		if other := seen[hash]; other != "" {
			t.Errorf("%s and %s have one hash", options, other)
		}
		seen[hash] = options
	}
	a, b := tool.Spec{Type: tool.TypeShell}, tool.Spec{Type: tool.TypeFilesystem}
	if tool.TrustHash([]tool.Spec{a, b}) != tool.TrustHash([]tool.Spec{b, a, a}) {
		t.Error("the order of specs changes the hash")
	}
}
