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
	if r.quiet && !words[0].known() {
		return
	}
	r.text(words)
	if !words[0].known() {
		r.unknown()
		return
	}
	name := base(words[0].text)
	r.input = given
	if r.quiet || !r.harmless(words, r.defined) {
		r.outside(words)
		r.starts(name, words, given)
	}
	if gnu := strings.TrimPrefix(name, "g"); wrapperCommands[gnu] { // names of GNU programs on other systems
		name = gnu
	}
	if wrapperCommands[name] {
		r.wrapped(name, words, given)
	}
}

// outside adds a command that is not in the table.
func (r *reader) outside(words []field) {
	if text := joined(words); !r.quiet && !strings.Contains(text, Unknown) {
		r.add(Outside + text)
		return
	}
	r.unknown()
}

// wrapped adds the commands that a command may start, as far as they are known: the words from each
// word on. They make rules certain; whether more may be started, harmless has decided.
func (r *reader) wrapped(name string, words []field, given []string) {
	was := r.quiet
	r.quiet = true
	defer func() { r.quiet = was }()
	acted := name != "find"
	for i := 1; i < len(words) && !r.full; i++ {
		if acted = acted || isFindAction(words[i-1]); !acted {
			continue
		}
		rest := slices.Clone(words[i:])
		if substitutingCommands[name] {
			rest = substituted(rest, "{}", true)
		}
		if rest[0].known() {
			r.text(rest)
			r.starts(base(rest[0].text), rest, given)
		}
		r.embeddedScript(words[i].text)
		if n, value, ok := strings.Cut(words[i].text, "="); ok {
			r.assigned(n, value, true)
			rest[0].text = value // the value of an option
			r.text(rest)
		}
	}
}

// isFindAction reports whether find treats the words after f as a command.
func isFindAction(f field) bool {
	return !f.known() || slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, f.text)
}

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
	switch {
	case name == "eval":
		r.script(joined(args))
	case name == "trap":
		if f := trapped(args); f != nil {
			r.script(f.text)
		}
	case shells[name]:
		r.shell(args, given)
	}
	for _, a := range args {
		if commandOptions.MatchString(a.text) {
			_, value, _ := strings.Cut(a.text, "=")
			r.script(strings.TrimPrefix(value, "exec="))
		}
	}
}

// flags matches the options of shells that do not change what commands are, with those of plainSet.
var flags = regexp.MustCompile(`^[-+][bCefhmnuvxBEHPT]*c?[bCefhmnuvxBEHPT]*o?$`)

// shell processes the arguments of a shell. Only -c shows what it runs.
func (r *reader) shell(args []field, given []string) {
	script := false
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if strings.HasPrefix(text, "-") && !script && flags.MatchString(text) {
			script = strings.Contains(text, "c")
			if strings.HasSuffix(text, "o") {
				if i++; i >= len(args) || !setOptions[args[i].text] {
					r.unknown()
				}
			}
			continue
		}
		if !script || !args[i].known() {
			r.unknown()
		}
		r.script(text)
		return // what follows are parameters of the script
	}
	r.unknown()
	for _, text := range given {
		r.script(text)
	}
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
