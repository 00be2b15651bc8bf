package resources

import (
	"slices"
	"strings"
)

// interpreter describes a program that runs the file that is its first argument of which a file
// exists.
type interpreter struct {
	// code are the options, separated by spaces, after which no argument is the file of the
	// program. One letter behind a dash may be the last of up to three.
	code string
	// values are the options whose value may be a file that is not the one of the program.
	values string
}

// interpreters are the interpreters by name, in lower case and without a version.
var interpreters = func() map[string]interpreter {
	out := map[string]interpreter{}
	for _, one := range []struct {
		names string
		interpreter
	}{
		{"sh bash dash zsh ksh fish", interpreter{"-c --command", "--rcfile --init-file"}},
		{"pwsh powershell", interpreter{"-c -command -encodedcommand", "-configurationfile -settingsfile"}},
		{"python pythonw pypy", interpreter{"-c -m", ""}},
		{"node nodejs tsx ts-node", interpreter{"-e --eval -p --print", "-r --require --import --loader " +
			"--experimental-loader --env-file --env-file-if-exists --experimental-config-file --openssl-config " +
			"--tsconfig --project -P"}},
		{"deno", interpreter{"", "-c --config --import-map --env-file --lock --cert --preload --import"}},
		{"bun", interpreter{"-e --eval -p --print", "-c --config -r --preload --require --import --env-file " +
			"--tsconfig-override"}},
		{"ruby", interpreter{"-e", "-r --require"}},
		{"perl", interpreter{"-e -E", ""}},
		{"php", interpreter{"-r --run -R --process-code", "-c --php-ini"}},
		{"lua luajit", interpreter{"", "-l"}},
		{"julia", interpreter{"-e --eval -E --print", "-L --load -J --sysimage --project"}},
		{"rscript osascript", interpreter{"-e", ""}},
		{"elixir", interpreter{"-e --eval", "-r -pr --erl-config --vm-args"}},
		{"guile", interpreter{"-c", "-l"}},
		{"dotnet", interpreter{"", "--depsfile --runtimeconfig --additional-deps"}},
		{"escript tclsh", interpreter{}},
	} {
		for name := range strings.FieldsSeq(one.names) {
			out[name] = one.interpreter
		}
	}
	return out
}()

// interpreterOf returns what is known about a program if it is an interpreter.
func interpreterOf(program string) (r interpreter, ok bool) {
	r, ok = interpreters[strings.TrimRight(baseName(program), ".0123456789")]
	return r, ok
}

// hasCode reports whether no argument after the option is the file of the program.
func (r interpreter) hasCode(option string) bool {
	if len(option) < 3 {
		return contains(r.code, option)
	}
	letters := len(option) <= 4 && option[0] == '-' && option[1] != '-' // longer ones are names, such as -norc
	return contains(r.code, strings.ToLower(option)) || letters && contains(r.code, "-"+option[len(option)-1:])
}

// hasValue reports whether the argument after the option is its value.
func (r interpreter) hasValue(option string) bool { return contains(r.values, option) }

func contains(words, word string) bool { return slices.Contains(strings.Fields(words), word) }

// wrapper describes a program that runs the command in its arguments.
type wrapper struct {
	subcommands string // one of these precedes the command; "" if none does
	values      string // options whose value is the next argument
	skip        int    // arguments before the command
}

// wrappers are the wrappers by name.
var wrappers = map[string]wrapper{
	"env":     {values: "-u --unset -C --chdir"},
	"nice":    {values: "-n --adjustment"},
	"ionice":  {values: "-c --class -n --classdata"},
	"nohup":   {},
	"setsid":  {},
	"time":    {values: "-f --format -o --output"},
	"stdbuf":  {values: "-i --input -o --output -e --error"},
	"timeout": {values: "-k --kill-after -s --signal", skip: 1},
	"uv": {subcommands: "run", values: "--with --with-editable --with-requirements --extra --group --only-group " +
		"--no-group --no-extra --env-file --python -p --project --directory --package --index --default-index " +
		"--index-url --extra-index-url --find-links -f --config-file --cache-dir --refresh-package"},
	"npx":    {values: "-p --package -w --workspace"},
	"bunx":   {values: "-p --package"},
	"pnpm":   {subcommands: "dlx exec", values: "--package -C --dir -F --filter"},
	"poetry": {subcommands: "run", values: "-C --directory -P --project"},
	"pipenv": {subcommands: "run"},
	"pdm":    {subcommands: "run", values: "-p --project"},
	"rye":    {subcommands: "run"},
	"bundle": {subcommands: "exec"},
}

// wrapped returns the index of the command that argv[0] runs with the arguments after it, or
// len(argv) if there is none.
func wrapped(argv []string) int {
	if len(argv) == 0 {
		return 0
	}
	w, ok := wrappers[baseName(argv[0])]
	if !ok {
		return len(argv)
	}
	at, skip := 1, w.skip
	if w.subcommands != "" {
		at += 1 + slices.IndexFunc(argv[1:], func(word string) bool { return contains(w.subcommands, word) })
		if at == 1 {
			return len(argv)
		}
	}
	for ; at < len(argv); at++ {
		switch word := argv[at]; {
		case contains(w.values, word):
			at++
		case contains("-m --module -c --call", word):
			return len(argv) // a module, or the text of a command
		case strings.HasPrefix(word, "-"), baseName(argv[0]) == "env" && strings.Contains(word, "="):
		case skip > 0:
			skip--
		default:
			return at
		}
	}
	return len(argv)
}
