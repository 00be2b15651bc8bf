package shellcmd

import "strings"

// Perhaps is the prefix of a command that a program may start, if it is not known whether that
// program starts commands.
const Perhaps = "\x01"

// leafCommands are commands that start no other command, whatever their arguments; commands that
// options can start are detected elsewhere.
var leafCommands = set(
	`: [ [[ alias basename bg break cal cat cd chgrp chmod chown cksum cmp column comm continue cut date dd df diff ` +
		`dirname dirs disown du echo egrep
	exit expand export expr false fg fgrep file fmt fold grep groups head hexdump hostname id join jobs kill let ` +
		`local ls md5sum mkdir mktemp nl nproc od
	paste pathchk popd printenv printf ps pushd pwd read readlink readonly realpath return rev rmdir seq set sha1sum ` +
		`sha256sum shift shopt shuf sleep sort
	stat strings sum sync tac tail tee test touch tr true tty type typeset declare ulimit umask unalias uname ` +
		`unexpand uniq unset wait wc whatis whereis
	which whoami yes rm unlink shred awk gawk mawk nawk sed gsed eval trap command`)

// perhaps adds the commands that a command starts if it starts any: the words from each word on,
// and words that could be scripts. It ignores git, whose words are its own subcommands, and
// programs of the project.
func (r *reader) perhaps(name string, words []field) {
	program := words[0].text
	own := strings.Contains(program, "/") && !strings.HasPrefix(program, "/") && !strings.HasPrefix(program, "../")
	if leafCommands[name] || shells[name] || awks[name] || own || name == "git" {
		return
	}
	sub := &reader{ifs: r.ifs, depth: r.depth, read: r.read, bytes: r.bytes}
	for i := 1; i < len(words) && !sub.full; i++ {
		if !words[i].known() {
			continue
		}
		sub.text(words[i:])
		if _, value, ok := strings.Cut(words[i].text, "="); ok && value != "" { // as in --program=rm
			sub.text(append([]field{{text: value}}, words[i+1:]...))
		}
		started := base(words[i].text)
		if i+1 < len(words) && strings.HasPrefix(words[i+1].text, "-") &&
			(shells[started] || interpreters[version.ReplaceAllString(started, "")]) {
			r.starts(started, words[i:], nil) // as in sh -c
		}
		sub.embeddedScript(words[i].text)
		if _, value, ok := strings.Cut(words[i].text, ":"); ok { // as in EXEC:command
			sub.embeddedScript(value)
		}
	}
	if r.read = sub.read; sub.full {
		r.unknown()
	}
	for _, text := range sub.out {
		if text != Unknown {
			r.add(Perhaps + strings.TrimPrefix(text, Perhaps))
		}
	}
}
