package resources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/permit/shellcmd"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
)

// metaAllowed holds what a person allowed for a run, as JSON of approval (ADR 41).
const metaAllowed = "allowed"

// approval is what a person allowed, with the folder in which it was allowed and the programs to
// which it referred then.
type approval struct {
	Dir string `json:"dir"`
	// Commands and Access are the lines that the person was shown.
	Commands [][]string    `json:"commands,omitempty"`
	Access   []string      `json:"access,omitempty"`
	Programs []programFile `json:"programs,omitempty"`
}

// programFile is a file that an allowed command starts or reads as its program.
type programFile struct {
	// As is the program as written, In the folder that it is relative to.
	As string `json:"as"`
	In string `json:"in"`
	// Path is the file that As refers to, with links resolved; "" if there is none. Digest is set
	// only for a file in the folder of the run: files elsewhere are replaced when the machine is
	// updated.
	Path   string `json:"path,omitempty"`
	Digest string `json:"digest,omitempty"`
	// Argument means that As is an argument, which need not name a file.
	Argument bool `json:"argument,omitempty"`
	// Tools means that the --tools file names it.
	Tools bool `json:"tools,omitempty"`
}

// recordApproval records in a run's meta what the approval of a person, or of the operator's own
// file, covers.
func recordApproval(meta map[string]string, document, tools []tool.Spec) error {
	dir := meta[metaDir]
	a := approval{Dir: dir, Commands: tool.Commands(slices.Concat(document, tools)),
		Access: tool.Access(slices.Concat(document, tools), dir)}
	for i, specs := range [][]tool.Spec{document, tools} {
		for _, s := range specs {
			for _, p := range programsOf(dir, s) {
				if p.Tools = i == 1; !slices.Contains(a.Programs, p) {
					a.Programs = append(a.Programs, p)
				}
			}
		}
	}
	if len(a.Commands)+len(a.Access) == 0 {
		return nil
	}
	b, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("record what was allowed: %w", err)
	}
	meta[metaAllowed] = string(b)
	return nil
}

// NoteAllowed records the folder of a run, and what it may use of this machine there, through the
// approval of its document and through the operator's file of tools.
func (op *Opener) NoteAllowed(document []tool.Spec, trust bool, f Files, meta map[string]string) error {
	if !trust {
		document = nil
	}
	var extra []tool.Spec
	if f.Tools != nil {
		var err error
		if extra, err = parseTools(f.ToolsFile, f.Tools); err != nil {
			return err
		}
	}
	if f.Tools != nil || trust || len(op.cfg.Operator.MCPs)+len(op.cfg.Operator.Toolsets) > 0 {
		if err := noteFolder(meta); err != nil {
			return err
		}
	}
	return recordApproval(meta, document, extra)
}

// programsOf returns the files that a toolset starts, or passes to what it starts.
func programsOf(dir string, s tool.Spec) []programFile {
	var out []programFile
	one := func(in string, argv []string, isWrapped bool) {
		r, starts := interpreterOf(argv[0])
		for i, w := range argv {
			p := findProgram(dir, programFile{As: w, In: in, Argument: i > 0})
			if isWrapped && i == 0 && p.Path == "" { // a package, or a file that the wrapper reads
				p = findProgram(dir, programFile{As: w, In: in, Argument: true})
			}
			if i == 0 && (!isWrapped || !p.Argument) || i > 0 && starts || isProgram(p, argv[0]) {
				out = append(out, p)
			}
			starts = starts && (i == 0 || !r.hasCode(w) && (p.Path == "" || r.hasValue(argv[i-1])))
			if _, value, ok := strings.Cut(w, "="); ok && i > 0 {
				if p := findProgram(dir, programFile{As: value, In: in, Argument: true}); isProgram(p, argv[0]) {
					out = append(out, p)
				}
			}
		}
	}
	words := func(in string, argv []string) {
		for isWrapped := false; len(argv) > 0; isWrapped = true {
			for _, file := range implicitFiles(argv) {
				if p := findProgram(dir, programFile{As: file, In: in, Argument: true}); p.Path != "" {
					out = append(out, p)
				}
			}
			next := wrapped(argv)
			one(in, argv[:next], isWrapped)
			argv = argv[next:]
		}
	}
	line := func(in, cmd string) {
		for _, command := range shellcmd.Script(cmd) {
			text, outside := strings.CutPrefix(command, shellcmd.Outside)
			argv := strings.Fields(strings.ReplaceAll(text, shellcmd.Unknown, " "))
			words(in, argv)
			for i := 1; outside && i < len(argv); i++ { // it may start what any of its words names
				if p := findProgram(dir, programFile{As: argv[i], In: in}); p.Path != "" {
					out = append(out, p)
				}
			}
		}
	}
	if s.Command != "" {
		in := under(dir, s.Dir)
		words(in, append([]string{s.Command}, s.Args...))
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			shell := ""
			if name == "ENV" || name == "BASH_ENV" { // files that shells run first
				shell = "sh"
			}
			words(in, []string{shell, s.Env[name]})
		}
	}
	o := s.Programs()
	for _, c := range o.Commands {
		words(under(dir, o.WorkingDir), []string{c})
	}
	for _, c := range o.Lines {
		line(under(dir, c.Dir), c.Text)
	}
	for _, c := range o.Argv {
		words(under(dir, c.Dir), c.Words)
	}
	if o.File != "" {
		out = append(out, findProgram(dir, programFile{As: o.File, In: dir, Argument: true}))
	}
	// A word that names no file now could refer to a file that is created later.
	return slices.DeleteFunc(out, func(p programFile) bool {
		return p.As == "" || p.Argument && p.Path == "" && (strings.HasPrefix(p.As, "-") || len(p.As) > 200 ||
			strings.ContainsAny(p.As, "\x00\n"))
	})
}

func baseName(program string) string {
	return strings.TrimSuffix(strings.ToLower(filepath.Base(program)), ".exe")
}

// isProgram reports whether the file of an argument is a program, or tells the command's program
// what to start. Other files are data: what is started may write them.
func isProgram(p programFile, command string) bool {
	switch baseName(command) {
	case "make", "gmake", "just", "task", "rake", "docker", "docker-compose", "podman":
		return true
	}
	switch strings.ToLower(filepath.Ext(p.As)) {
	case ".py", ".pyw", ".pyz", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".rb", ".pl", ".pm",
		".php", ".lua", ".sh", ".bash", ".zsh", ".ksh", ".fish", ".ps1", ".psm1", ".bat", ".cmd", ".com", ".exe",
		".dll", ".so", ".dylib", ".node", ".wasm", ".jar", ".war", ".class", ".go", ".rs", ".r", ".jl", ".tcl",
		".ex", ".exs", ".scm", ".clj", ".kts", ".groovy", ".scala", ".swift", ".awk", ".sed", ".nix", ".applescript":
		return true
	}
	if p.Path == "" {
		return false
	}
	st, err := os.Stat(p.Path)
	if err != nil || st.Mode()&0o111 != 0 {
		return true
	}
	f, err := os.Open(p.Path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, 2)
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == "#!"
}

// implicitFiles returns the files that a program reads implicitly: they contain the code that it
// runs. Not all of them need to exist.
func implicitFiles(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	var out []string
	switch strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case "npm", "npx", "pnpm", "yarn", "bun":
		out = append(out, "package.json")
	case "make", "gmake":
		out = append(out, "GNUmakefile", "makefile", "Makefile")
	case "just":
		out = append(out, "justfile", "Justfile")
	case "deno":
		out = append(out, "deno.json", "deno.jsonc")
	case "docker", "podman":
		out = append(out, "compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
	}
	for i, w := range argv[1:] {
		if argv[i] == "-m" || argv[i] == "-jar" {
			module := strings.ReplaceAll(w, ".", "/")
			out = append(out, module+".py", module+"/__main__.py", module+"/__init__.py")
		}
		// a folder stands for a file in it
		for _, name := range []string{"package.json", "index.js", "index.mjs", "__main__.py"} {
			out = append(out, filepath.Join(w, name))
		}
		for _, ext := range []string{".js", ".mjs", ".cjs"} {
			out = append(out, w+ext)
		}
	}
	return out
}

func under(dir, sub string) string {
	if filepath.IsAbs(sub) {
		return filepath.Clean(sub)
	}
	return filepath.Join(dir, sub)
}

// findProgram completes p with the file to which it refers now. dir is the folder of the run.
func findProgram(dir string, p programFile) programFile {
	p.Path, p.Digest = "", ""
	path := p.As
	switch {
	case path == "" || strings.ContainsAny(path, "\x00\n"):
		return p
	case !p.Argument && !strings.ContainsAny(path, `/\`):
		found, err := exec.LookPath(path)
		if err != nil {
			return p
		}
		path = found
	}
	st, err := os.Stat(under(p.In, path))
	if err != nil || !st.Mode().IsRegular() {
		return p
	}
	if p.Path, err = filepath.EvalSymlinks(under(p.In, path)); err != nil {
		p.Path = ""
		return p
	}
	if inside, err := filepath.Rel(tool.Plain(dir), p.Path); err == nil && filepath.IsLocal(inside) {
		p.Digest = digestOf(p.Path)
	}
	return p
}

// maxDigest is the number of bytes of a file that are read for its fingerprint: an argument may
// name any file.
const maxDigest = 32 << 20

// digestOf returns a fingerprint of a file: its content up to maxDigest, and for a longer file also
// its size and modification time. A file that cannot be read has a special fingerprint.
func digestOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxDigest)); err != nil {
		return "unreadable"
	}
	st, err := f.Stat()
	if err != nil {
		return "unreadable"
	}
	if st.Size() > maxDigest {
		fmt.Fprintf(h, "%d %d", st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// changes returns what has changed since the approval; tools means that the --tools file was passed
// again.
func (a *approval) changes(tools bool) []string {
	var out []string
	for _, p := range a.Programs {
		if p.Tools && tools {
			continue
		}
		switch now := findProgram(a.Dir, p); {
		case now == p:
		case now.Path == p.Path:
			out = append(out, p.Path+" has changed")
		case now.Path == "":
			out = append(out, p.As+" was "+p.Path+" and no longer exists")
		default:
			out = append(out, p.As+" was "+orNothing(p.Path)+" and is "+now.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func orNothing(path string) string {
	if path == "" {
		return "no program"
	}
	return path
}

// AskAgain returns an *AllowedElsewhereError if what was allowed for a run has to be allowed again
// before this process drives it.
func (op *Opener) AskAgain(run string, meta map[string]string) error {
	text := meta[metaAllowed]
	e := &failure.AllowedElsewhereError{Run: run, Changed: op.weaker(meta)}
	if op.isAllowed(meta) || text == "" && (len(e.Changed) == 0 || op.cfg.Kind != journal.KindRun) {
		return nil
	}
	if op.cfg.Kind != journal.KindRun {
		e.Changed = nil // it continues under both sets of permissions
	}
	if text != "" {
		var a approval
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return fmt.Errorf("read what was allowed for run %s: %w", run, err)
		}
		here, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("find the working directory: %w", err)
		}
		g := op.replacementOf(run)
		if e.Dir, e.Here = a.Dir, here; tool.Plain(a.Dir) == tool.Plain(here) {
			e.Here = a.Dir
		} else {
			e.Changed = append(e.Changed, "it is continued in a different folder")
		}
		e.Changed = append(e.Changed, a.changes(g != nil && g.tools != nil)...)
		e.Wants = failure.CommandsError{Commands: a.Commands, Access: a.Access}
	}
	if len(e.Changed) == 0 {
		return nil
	}
	return e
}

// Allow lets this process drive a run, and the runs that it started for its branches, although its
// programs, folder or permissions differ from what was allowed: the person who requests it has seen
// the contents of [failure.AllowedElsewhereError]. Relative paths are still resolved against the
// folder where the run began, or against the current one if that no longer exists. Allow returns
// the errors of reading the run.
func (op *Opener) Allow(ctx context.Context, run string) error {
	head, err := op.cfg.Journal.Head(ctx, run)
	if err != nil {
		return err
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	op.reapproved = append(op.reapproved, allowedKey(head.Meta))
	return nil
}

// allowedKey identifies what a second approval covers.
func allowedKey(meta map[string]string) string { return meta[metaAllowed] + "\x00" + meta[MetaRules] }

func (op *Opener) isAllowed(meta map[string]string) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	return slices.Contains(op.reapproved, allowedKey(meta))
}

// folder returns the folder against which relative paths of a run's tools are resolved.
func (op *Opener) folder(meta map[string]string) string {
	dir := meta[metaDir]
	if _, err := os.Stat(dir); dir != "" && errors.Is(err, os.ErrNotExist) && op.isAllowed(meta) {
		return ""
	}
	return dir
}

// weaker returns what the current permissions allow that the permissions at the start of a run did
// not.
func (op *Opener) weaker(meta map[string]string) []string {
	var was tool.Permissions
	if text := meta[MetaRules]; text == "" || json.Unmarshal([]byte(text), &was) != nil {
		return nil
	}
	return permit.Weaker(was, op.cfg.Permissions)
}
