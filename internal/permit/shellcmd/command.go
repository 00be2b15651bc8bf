package shellcmd

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// wrapperCommands are commands that run another command, located somewhere among their arguments.
// Their options are not parsed: the words from each argument on are treated as a command.
var wrapperCommands = set(
	`builtin busybox capsh choom chroot chrt command coproc coreutils dbus-run-session docker doas entr env exec ` +
		`faketime fakeroot find
	flock gdb i386 ionice jobs kubectl linux32 linux64 ltrace nice nohup nsenter numactl parallel perf pkexec podman ` +
		`prlimit proot rlwrap rsh run-parts
	runuser script setarch setpriv setsid ssh start-stop-daemon stdbuf strace su sudo systemd-run taskset time ` +
		`timeout torsocks toybox unbuffer unshare
	valgrind watch xargs xvfb-run screen tmux proxychains proxychains4 uv npx tar gtar bsdtar rsync scp zip`)

// substitutingCommands replace some of their arguments with other text.
var substitutingCommands = set("find parallel xargs")

// shells run scripts. Scripts that they read from a file or from standard input are unknown.
var shells = set("sh bash dash ash ksh ksh93 mksh oksh loksh lksh zsh fish csh tcsh rbash rksh yash posh pwsh " +
	"powershell cmd elvish nu xonsh")

// readers run commands that their text does not contain: from a file, from standard input, or in a
// language other than the shell's.
var readers = set(
	`. source alias hash enable bind complete compgen mapfile readarray fc history at batch crontab login newgrp sg
	expect osascript jshell irb octave
	ex vi vim nvim view vimdiff ed emacs nano gdb dc m4 psql mysql sqlite3`)

// interpreters run a file named by their first argument, which is a command like any other, or code
// passed in an option, which is not parsed.
var interpreters = set("perl python ruby node nodejs php lua luajit tclsh wish deno bun groovy scala R Rscript julia " +
	"guile racket")

// awks are interpreters whose programs can start commands in a few words.
var awks = set("awk gawk mawk nawk original-awk")

func set(words string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		out[w] = true
	}
	return out
}

// commandOptions matches long options with which many programs accept a command.
var commandOptions = regexp.MustCompile(
	`^--?(to-command|checkpoint-action|use-compress-program|rsh|rsync-path|exec|exec-path|command|cmd|pager|editor|` +
		`shell|shell-command|compress-program|upload-pack|receive-pack|extcmd|open-files-in-pager|unzip-command|` +
		`info-script|new-volume-script|filter|preprocessor|init-file|rcfile)(=|$)`)

// version matches the suffix that names of interpreters may have.
var version = regexp.MustCompile(`[0-9.-]*$`)

// command processes one simple command: its text, and the commands it starts. given are the strings
// that it can read.
func (r *reader) command(words []field, given []string) {
	r.certain(words, given)
	// If a word may be missing, the next one takes its position.
	for i := 0; i < len(words)-1 && words[i].mayBeMissing(); i++ {
		r.certain(words[i+1:], given)
	}
}

// certain processes a simple command whose first word is certain.
func (r *reader) certain(words []field, given []string) {
	if len(words) == 0 {
		return
	}
	r.text(words)
	name := base(words[0].text)
	if !words[0].known() {
		return // any command: its text is already unknown
	}
	r.starts(name, words, given)
	if gnu := strings.TrimPrefix(name, "g"); wrapperCommands[gnu] { // names of GNU programs on other systems
		name = gnu
	}
	if !wrapperCommands[name] {
		r.perhaps(name, words)
		return
	}
	acted := name != "find"
	for i := 1; i < len(words) && !r.full; i++ {
		if acted = acted || isFindAction(words[i-1]); !acted {
			continue
		}
		rest := slices.Clone(words[i:])
		if substitutingCommands[name] {
			for j := range rest {
				rest[j].text = strings.ReplaceAll(rest[j].text, "{}", Unknown)
				rest[j].splittable = rest[j].splittable || rest[j].text == Unknown
			}
			rest = append(rest, field{Unknown, true})
		}
		r.text(rest)
		if rest[0].known() {
			r.starts(base(rest[0].text), rest, given)
		}
		r.embeddedScript(words[i].text)
		if substitutingCommands[name] && (replaceOptions.MatchString(words[i].text) ||
			wrapperCommands[base(words[i].text)]) {
			r.unknown() // the substituted text may be the command that is started
		}
		if n, value, ok := strings.Cut(words[i].text, "="); ok {
			r.assigned(n, value)
			rest[0].text = value // as in --program=rm
			r.text(rest)
		}
	}
}

// isFindAction reports whether find treats the words after f as a command.
func isFindAction(f field) bool {
	return !f.known() || slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, f.text)
}

// replaceOptions matches the options of substituting commands that choose a replacement string
// other than {}.
var replaceOptions = regexp.MustCompile(`^(-[a-zA-Z0-9]*[IiJ]|--replace|--rpl|-U)`)

// embeddedScript treats the text of one argument as a script if it could be one: if it contains
// blanks or shell syntax, or follows the letter or the name of an option.
func (r *reader) embeddedScript(text string) {
	if strings.ContainsAny(text, " \t\n;|&<>$`(){}\"'\\") {
		r.script(text)
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		r.script(value)
	}
	if !strings.HasPrefix(text, "-") {
		return
	}
	for i := 2; i < min(len(text), 6); i++ { // after one or more letters
		r.script(text[i:])
	}
}

// starts processes the commands that a command with a known name runs.
func (r *reader) starts(name string, words []field, given []string) {
	args := words[1:]
	plain := version.ReplaceAllString(name, "")
	switch {
	case name == "eval":
		r.script(joined(args))
	case name == "trap" && len(args) > 0:
		r.script(args[0].text)
	case shells[name]:
		r.shell(args, given)
	case awks[name]:
		for _, a := range args {
			if !a.known() || strings.Contains(a.text, "system") || strings.ContainsAny(a.text, "|@`") ||
				strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "-F") && !strings.HasPrefix(a.text, "-v") {
				r.unknown()
			}
		}
	case readers[name] || readers[plain] && plain != "":
		if !isInfoOnly(args) {
			r.unknown()
		}
	case interpreters[name] || interpreters[plain] && plain != "":
		if !isInfoOnly(args) && (len(args) == 0 || !args[0].known() || strings.HasPrefix(args[0].text, "-")) {
			r.unknown()
		}
	case name == "git":
		r.git(args)
	case name == "sed" || name == "gsed":
		r.sed(args)
	case name == "export" || name == "readonly" || name == "declare" || name == "typeset" || name == "local":
		for _, a := range args {
			n, value, _ := strings.Cut(a.text, "=")
			r.assigned(n, value)
		}
	}
	for _, a := range args {
		if commandOptions.MatchString(a.text) {
			_, value, _ := strings.Cut(a.text, "=")
			r.script(strings.TrimPrefix(value, "exec="))
			r.unknown()
		}
	}
}

// isInfoOnly reports whether an interpreter is only asked for its version or its help.
func isInfoOnly(args []field) bool {
	return len(args) == 1 && slices.Contains([]string{"--version", "-V", "-version", "--help", "-h"}, args[0].text)
}

// flags matches the options of shells that do not change where commands come from.
var flags = regexp.MustCompile(`^[-+][abCefhkmnuvxBEHPT]*c?[abCefhkmnuvxBEHPT]*$`)

// shell processes the arguments of a shell. Only -c shows what it runs.
func (r *reader) shell(args []field, given []string) {
	script := false
	for i := range args {
		text := args[i].text
		switch {
		case !args[i].known():
			r.unknown()
			r.script(text)
		case strings.HasPrefix(text, "-") && !script && flags.MatchString(text):
			script = strings.Contains(text, "c")
			continue
		case script:
			r.script(text)
		default:
			r.unknown()
		}
	}
	if !script {
		r.unknown()
		for _, text := range given {
			r.script(text)
		}
	}
}

// gitKeys matches the git configuration keys that name no command.
var gitKeys = regexp.MustCompile(
	`(?i)^(color|user|log|advice|status|format\.pretty|core\.(quotepath|autocrlf|filemode|ignorecase)|` +
		`init\.defaultbranch|safe|gc|pull|push\.default)(\.|=|$)`)

// git processes the arguments of git, some of which run commands.
func (r *reader) git(args []field) {
	has := func(word string) bool {
		return slices.ContainsFunc(args, func(f field) bool { return f.text == word })
	}
	for i, a := range args {
		next := ""
		if i+1 < len(args) {
			next = args[i+1].text
		}
		switch {
		case a.text == "-c" && !gitKeys.MatchString(next), strings.HasPrefix(a.text, "--config-env"),
			strings.HasPrefix(a.text, "--exec"), strings.HasPrefix(a.text, "-O"),
			strings.Contains(a.text, "ext::"), strings.HasPrefix(a.text, "-x") && (a.text == "-x" || has("rebase")),
			(strings.HasPrefix(a.text, "-u") || strings.HasPrefix(a.text, "--config")) && has("clone"),
			a.text == "config" && !plainConfig(args[i+1:]),
			slices.Contains([]string{"run", "foreach", "filter-branch", "difftool", "mergetool"}, a.text):
			r.unknown()
			r.embeddedScript(a.text)
			for j := i + 1; j < len(args); j++ {
				r.text(args[j:])
				r.embeddedScript(args[j].text)
			}
		}
	}
}

// plainConfig reports whether `git config` with args sets nothing that names a command.
func plainConfig(args []field) bool {
	for len(args) > 0 && slices.Contains([]string{"--global", "--local", "--system", "--worktree", "--get", "--get-all",
		"--list", "--unset", "--add", "--bool", "--int"}, args[0].text) {
		if slices.Contains([]string{"--get", "--get-all", "--list", "--unset"}, args[0].text) {
			return true
		}
		args = args[1:]
	}
	return len(args) < 2 || slices.Contains([]string{"get", "list", "unset"}, args[0].text) ||
		gitKeys.MatchString(args[0].text)
}

// sed processes the arguments of sed. Scripts with commands other than s, d, p, q and = are not
// parsed.
func (r *reader) sed(args []field) {
	taken := false
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case text == "-e" && i+1 < len(args):
			i++
			taken = true
			if !plainSed(args[i]) {
				r.unknown()
			}
		case slices.Contains([]string{"-n", "-E", "-r", "-i", "-s", "-u", "-z", "-nE", "-nr", "--quiet", "--silent"},
			text):
		case strings.HasPrefix(text, "-"):
			r.unknown()
		case !taken:
			taken = true
			if !plainSed(args[i]) {
				r.unknown()
			}
		}
	}
}

// sedAddress matches an address of lines by number.
var sedAddress = regexp.MustCompile(`^([0-9]+|\$)?(,([0-9]+|\$))?!?`)

func plainSed(f field) bool {
	if !f.known() || strings.ContainsAny(f.text, "\n\\") {
		return false
	}
	rest := f.text[len(sedAddress.FindString(f.text)):]
	if rest == "p" || rest == "d" || rest == "q" || rest == "=" {
		return true
	}
	if len(rest) < 4 || rest[0] != 's' {
		return false
	}
	parts := strings.Split(rest[2:], rest[1:2])
	return len(parts) == 3 && strings.Trim(parts[2], "gpIi0123456789") == ""
}

// text adds the text of a command, and a second form with only the last element of its program's
// path. If a word may be missing, its blanks may be missing too.
func (r *reader) text(words []field) {
	var spaced, tight strings.Builder
	for i, w := range words {
		if i > 0 {
			spaced.WriteByte(' ')
			if !w.mayBeMissing() && !words[i-1].mayBeMissing() {
				tight.WriteByte(' ')
			}
		}
		spaced.WriteString(w.text)
		tight.WriteString(w.text)
	}
	for _, text := range []string{spaced.String(), tight.String()} {
		r.add(text)
		if first := words[0].text; base(first) != first && strings.HasPrefix(text, first) {
			r.add(base(first) + text[len(first):])
		}
	}
}

// base returns the last element of a program's path, without the extension that Windows adds to
// programs.
func base(program string) string {
	if i := strings.LastIndexByte(program, '/'); i >= 0 && i+1 < len(program) {
		program = program[i+1:]
	}
	if ext := path.Ext(program); strings.EqualFold(ext, ".exe") {
		return strings.TrimSuffix(program, ext)
	}
	return program
}
