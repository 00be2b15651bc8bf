package permit_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestShell_WrapperCommands checks SEC13: a command is denied or asked about even if it is started
// through a program that is not known to start commands, or through two that are.
func TestShell_WrapperCommands(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *"}}
	for _, cmd := range []string{
		// Programs that start other programs, of which no list is complete.
		"ssh-agent rm x", "tini -- rm x", "ccache rm x", "mise exec -- rm x", "npm exec rm x", "bundle exec rm x",
		"daemonize /bin/rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "ip netns exec a rm x", "cmake -E rm x",
		"hyperfine 'rm x'", "nix-shell --run 'rm x'", "nc -e 'rm x' h 1", "socat EXEC:'rm x' -", "man -P 'rm x' ls",
		"make SHELL='rm x'", "make --eval='a:;rm x'", "ssh -o ProxyCommand='rm x' h", "go vet -vettool=rm x",
		"coreutils --coreutils-prog=rm x",
		"tini " + strings.Repeat("a ", 4000) + "rm x", "tini sh -c 'r\"\"m x'", "ccache bash -c '$X'",
		"mise exec -- python3 -c x", "genv rm x", "gtimeout 5 rm x", "gxargs rm",
		// A copy or a link under another name.
		"cp /bin/rm q && ./q x", "ln -s /bin/rm q; ./q x", "install /bin/rm q; ./q x",
		// Wrappers started by wrappers.
		"echo rm x | xargs env", "echo rm x | xargs -n2 nice", `find . -exec nice rm {} \;`, `find . -exec env {} \;`,
		`find . -exec timeout 5 env rm {} +`,
		// Git.
		"git config core.fsmonitor 'rm x'", "git config alias.a '!rm x'; git a", "git config core.pager 'rm x' user",
		"git config --global core.pager 'rm x'", "git config set core.pager 'rm x'", "git rebase -x'rm x' A",
		"git clone -u'rm x' a", "git clone --config=core.fsmonitor=x a",
	} {
		if got := decide(t, shell(cmd), rules); got < permit.Ask {
			t.Errorf("%q: %s, want ask at least", cmd, got)
		}
	}
	for _, cmd := range []string{
		"git push -u origin main", "git clean -df", "git config user.name Bob", "git config --get core.pager",
		"go vet ./...", "go test ./... -run 'TestA|TestB'", "make -j4 all", `curl -sS -d '{"a": 1}' https://x`,
		"npm install --save-dev rm", "docker ps", `go build -o "$OUT" .`, "apt-get install -y git", "cp a b",
		"cp *.go d", `mv "$a" b`,
	} {
		if got := decide(t, shell(cmd), rules); got != permit.Allow {
			t.Errorf("%q: %s, want allow", cmd, got)
		}
	}
}
