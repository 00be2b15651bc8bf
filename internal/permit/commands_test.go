package permit_test

import (
	"encoding/json"
	"testing"

	"github.com/hocket-run/hocket/internal/permit"
)

// TestShell_CommandSpellings checks SEC13: the spellings of one command. Each must be denied, or a
// person asked if the command that runs is not known in advance.
func TestShell_CommandSpellings(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *"}}
	for cmd, want := range map[string]permit.Decision{
		// Quotes, escapes and paths.
		"rm x": permit.Deny, "'rm' x": permit.Deny, `"rm" x`: permit.Deny, `r'm' x`: permit.Deny, `r""m x`: permit.Deny,
		`\rm x`: permit.Deny, `r\m x`: permit.Deny,
		"/bin/rm x": permit.Deny, "/usr/bin/../bin/rm x": permit.Deny, "../../bin/rm x": permit.Deny,
		`"/bin/"rm x`: permit.Deny, "rm\tx": permit.Deny, "r\\\nm x": permit.Deny,
		`$'rm' x`: permit.Deny, `$'\x72m' x`: permit.Deny, `$'\162\155' x`: permit.Deny, `$'\u0072m' x`: permit.Deny,
		`$"rm" x`: permit.Deny, "rm 'a b'": permit.Deny, "RM x": permit.Deny,
		// Before the command, and around it.
		"A=1 rm x": permit.Deny, "A=1 B='2 3' rm x": permit.Deny, ">/dev/null rm x": permit.Deny,
		"2>&1 </dev/null rm x": permit.Deny, "rm>/dev/null x": permit.Deny, "! rm x": permit.Deny,
		"if :; then rm x; fi": permit.Deny, "if rm x; then :; fi": permit.Deny, "while rm x; do :; done": permit.Deny,
		"until rm x; do :; done": permit.Deny, "for a in 1; do rm x; done": permit.Deny,
		"case a in a) rm x;; esac": permit.Deny, "{ rm x; }": permit.Deny, "(rm x)": permit.Deny,
		"((rm x))": permit.Ask, "f() { rm x; }; f": permit.Deny, "function f { rm x; }; f": permit.Deny,
		"f() { rm \"$@\"; }; f x": permit.Deny, "true && rm x": permit.Deny, "false || rm x": permit.Deny,
		"true; rm x": permit.Deny, "true & rm x": permit.Deny, "true | rm x": permit.Deny, "true\nrm x": permit.Deny,
		"true &>/dev/null rm x": permit.Ask, "[[ a && rm x ]]": permit.Deny, "coproc rm x": permit.Deny,
		"time rm x": permit.Deny, "time -p rm x": permit.Deny, "select a in b; do rm x; done": permit.Deny,
		// Substitutions.
		"echo $(rm x)": permit.Deny, "echo `rm x`": permit.Deny, `echo "$(rm x)"`: permit.Deny,
		"echo \"`rm x`\"": permit.Deny, "echo ${a:-$(rm x)}": permit.Deny, "echo $((1 + $(rm x)))": permit.Deny,
		"cat <(rm x)": permit.Deny, "true > >(rm x)": permit.Deny, "a=$(rm x)": permit.Deny,
		"export a=$(rm x)": permit.Deny, "cat <<E\n$(rm x)\nE": permit.Deny, "a[$(rm x)]=1": permit.Deny,
		"echo $(echo $(echo $(rm x)))": permit.Deny, "case $(rm x) in a) :;; esac": permit.Deny,
		"for a in $(rm x); do :; done": permit.Deny,
		// Blanks and lists.
		"rm${IFS}x": permit.Deny, "rm$IFS-rf${IFS}x": permit.Deny, "{rm,x}": permit.Deny, "{rm,-rf,x}": permit.Deny,
		"{r,}m x": permit.Ask, "/bin/r? x": permit.Ask, "/bin/r[m] x": permit.Ask, "/b*/rm x": permit.Deny,
		"~/../../bin/rm x": permit.Deny, "rm $X": permit.Deny, "rm *": permit.Deny, `rm "$@"`: permit.Deny,
		// Unknown commands.
		"$X x": permit.Ask, "a=rm; $a x": permit.Ask, "r$X x": permit.Ask, "$(echo rm) x": permit.Ask,
		"`echo rm` x": permit.Ask, "${X:-rm} x": permit.Ask, "set -- rm x; \"$@\"": permit.Ask, "$X rm x": permit.Ask,
		"$X/rm x": permit.Deny,
		"eval $X": permit.Ask, "rm x (": permit.Deny, "echo 'open": permit.Ask, ". ./f": permit.Ask,
		"source f": permit.Ask, "alias l='rm x'\nl": permit.Ask, "${!a} x": permit.Ask,
		"python3 -c 'import os'": permit.Ask, "perl -e 'unlink x'": permit.Ask,
		"awk 'BEGIN{system(\"rm x\")}'": permit.Ask, "sed '1e rm x' f": permit.Ask, "echo 'rm x' | sh": permit.Ask,
		"sh f": permit.Ask, "sh <f": permit.Ask,
		"PS4='$(rm x)'; set -x": permit.Ask, "a='b[$(rm x)]'; echo $((a))": permit.Ask,
		"BASH_ENV=f bash -c :": permit.Ask,
		// Commands that start commands.
		"exec rm x": permit.Deny, "env rm x": permit.Deny, "env -i A=1 rm x": permit.Deny, "env -u A rm x": permit.Deny,
		"env -S 'rm x'": permit.Deny, "env -S'rm x'": permit.Deny, "env --split-string='rm x'": permit.Deny,
		"command rm x": permit.Deny, "command -p rm x": permit.Deny, "builtin command rm x": permit.Deny,
		"nohup rm x": permit.Deny, "nice -n 5 rm x": permit.Deny, "timeout -k 1 5 rm x": permit.Deny,
		"sudo -u root rm x": permit.Deny, "sudo -- rm x": permit.Deny, "xargs rm": permit.Deny,
		"echo x | xargs rm": permit.Deny, "xargs -0 -n1 rm -f": permit.Deny, "echo rm | xargs -I% % x": permit.Ask,
		"find . -exec rm {} ;":         permit.Deny,
		"find . -name x -exec rm {} +": permit.Deny, "find /bin -name rm -exec {} x \\;": permit.Ask,
		"find . -ok rm {} \\;": permit.Deny, "sh -c 'rm x'": permit.Deny, "bash -ec 'rm x'": permit.Deny,
		"/bin/sh -c \"rm x\"":    permit.Deny,
		"sh -c 'sh -c \"rm x\"'": permit.Deny, "eval rm x": permit.Deny, "eval 'rm x'": permit.Deny,
		"eval r m": permit.Ask, "busybox rm x": permit.Deny, "busybox sh -c 'rm x'": permit.Deny,
		"setsid rm x":      permit.Deny,
		"trap 'rm x' EXIT": permit.Deny, "sh <<E\nrm x\nE": permit.Deny, "bash <<<'rm x'": permit.Deny,
		"env env env rm x": permit.Deny, "stdbuf -o0 rm x": permit.Deny, "flock /tmp/l -c 'rm x'": permit.Deny,
		"su -c 'rm x'": permit.Deny,
		"watch 'rm x'": permit.Deny, "git -c alias.x='!rm x' x": permit.Ask,
		"tar cf a b --checkpoint-action=exec='rm x'": permit.Deny, "exec -a ls rm x": permit.Deny,
		"script -qc 'rm x' f": permit.Deny, "script -qc'rm x' f": permit.Deny, "tar -I 'rm x' -cf a b": permit.Deny,
		"rsync -e 'rm x' a b:": permit.Deny,
		"unset 'a[$(rm x)]'":   permit.Ask, "[[ 'a[$(rm x)]' -eq 1 ]]": permit.Ask, "test -v 'a[`rm x`]'": permit.Ask,
		"node -e 1": permit.Ask, "python3 <f": permit.Ask, "ruby": permit.Ask, "sh -c 'exec \"$0\" x' rm": permit.Ask,
		"find . -exec sh -c 'rm \"$1\"' _ {} \\;":      permit.Deny,
		"env 'BASH_FUNC_ls%%=() { rm x; }' bash -c ls": permit.Ask, "mapfile -C 'rm x' a": permit.Ask,
		"doas -- rm x": permit.Deny, "chroot / rm x": permit.Deny, "sudo -i sh -c 'rm x'": permit.Deny,
	} {
		if got := decide(t, shell(cmd), rules); got < want || want == permit.Allow && got != want {
			t.Errorf("%q: %s, want %s", cmd, got, want)
		}
	}
}

// TestShell_UnrelatedCommands checks that input that does not start the command is neither denied
// nor asked about.
func TestShell_UnrelatedCommands(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *"}, Ask: []string{"shell:cmd=git push*"}}
	for _, cmd := range []string{
		"ls", "rmdir x", "echo rm x", "echo 'a; rm x'", "grep -r 'rm x' .", "git rm x", "git log --oneline",
		"git commit -m 'rm x'", "for f in *.md; do wc -l \"$f\"; done", "make test", "make CI=1",
		"cat <<'E'\nrm x\nE", "echo $HOME", "ls $X", "CI=1 make", "cd src && go test ./... 2>&1 | tail -5",
		"env CI=1 make", "sh -c 'make test'", "find . -name '*.go'", "sed -n '1,5p' f", "sed 's/a/b/g' f",
		"awk '{print $1}' f", "python3 --version", "git -c color.ui=never log", "[ -f x ] && echo yes", "test -d rm",
		"printf '%s\\n' rm x", "xargs wc -l", "a=1; echo $((a + 1))", "rm", "time make", "echo {a,b}", "nice make rmx",
		"python3 tools/count.py x", "node build.js", "tar cf a.tar src", "ls # all \\ files\nls", `echo "${a%'.txt'}"`,
		`echo "${a:-"b"}"`, `echo "${a:-$(echo 'b')}"`, "cat <<E\n${a:-b}\n'rm x'\nE",
	} {
		if got := decide(t, shell(cmd), rules); got != permit.Allow {
			t.Errorf("%q: %s, want allow", cmd, got)
		}
	}
	for cmd, want := range map[string]permit.Decision{"git push": permit.Ask, "git $X": permit.Ask,
		"git pull": permit.Allow, "(cd a; /usr/bin/git push origin)": permit.Ask, "git pu?h": permit.Ask,
		"ls $X; git push": permit.Ask} {
		if got := decide(t, shell(cmd), rules); got != want {
			t.Errorf("%q: %s, want %s", cmd, got, want)
		}
	}
}

// TestShell_WordSpellings checks that words that no shell reads are parsed alike, as are the
// commands of tools that are not Hocket's.
func TestShell_WordSpellings(t *testing.T) {
	t.Parallel()
	rules := permit.Rules{Deny: []string{"shell:cmd=rm *", "other:command=rm *"}}
	for args, want := range map[string]permit.Decision{
		`{"argv":["rm","x"]}`: permit.Deny, `{"argv":["/bin/rm","x"]}`: permit.Deny,
		`{"argv":["env","rm","x"]}`: permit.Deny, `{"argv":["sh","-c","rm x"]}`: permit.Deny,
		`{"argv":["sh"],"stdin":"rm x"}`: permit.Ask,
		`{"argv":["busybox","rm","x"]}`:  permit.Deny, `{"argv":["xargs","rm"]}`: permit.Deny,
		`{"argv":["ls","rm y"]}`: permit.Deny, `{"argv":["'rm'","x"]}`: permit.Ask,
		`{"argv":["find",".","-exec","rm","{}",";"]}`: permit.Deny,
		`{"argv":["bash","-c","$0 x","rm"]}`:          permit.Ask, `{"argv":["python3","-c","1"]}`: permit.Ask,
		`{"argv":["env","-S","rm x"]}`: permit.Deny,
	} {
		call := permit.Call{Own: "exec", Offered: "exec", Toolset: "shell", Arguments: json.RawMessage(args)}
		if got := decide(t, call, rules); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	for args, want := range map[string]permit.Decision{
		`{"command":"'rm' x"}`: permit.Deny, `{"command":["rm","x"]}`: permit.Deny,
		`{"steps":[{"run":{"command":"/bin/rm x"}}]}`: permit.Deny, `{"input":"{\"command\":\"rm x\"}"}`: permit.Deny,
		`{"command":"ls"}`: permit.Allow,
	} {
		if got := decide(t, permit.Call{Own: "other", Offered: "other", Arguments: json.RawMessage(args)},
			rules); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
