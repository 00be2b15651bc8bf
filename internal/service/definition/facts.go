package definition

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Limits of prompt files: the size of one, and the total of a run.
const (
	maxPromptFileBytes  = 128 << 10
	maxPromptFilesBytes = 512 << 10
)

// maxFolders is the maximum number of folders above the document in which a prompt file is
// searched.
const maxFolders = 64

// openExtensions are the extensions of prompt files that a document may name without --trust: those
// of files written for human readers. Hidden files are excluded.
var openExtensions = []string{".md", ".mdx", ".mdc", ".txt", ".rst", ".adoc"}

// wanted holds the facts that the agents of a workflow request.
type wanted struct {
	date, environment bool
	files             []string // without duplicates, in the order of the agents
}

func wants(w *workflow.Workflow) wanted {
	var out wanted
	var add func(w *workflow.Workflow, depth int)
	add = func(w *workflow.Workflow, depth int) {
		for i := range w.Agents {
			a := &w.Agents[i]
			out.date, out.environment = out.date || a.AddDate, out.environment || a.AddEnvironment
			for _, f := range a.PromptFiles {
				if !slices.Contains(out.files, f) {
					out.files = append(out.files, f)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
			if depth < workflow.MaxFlowDepth {
				add(w.Flows[name], depth+1)
			}
		}
		for _, b := range w.Branches {
			if b != nil && depth < workflow.MaxFlowDepth {
				add(b, depth+1)
			}
		}
	}
	add(w, 0)
	return out
}

// filesIn returns a function that reads files of instructions in a folder, with the limits of
// prompt files; nil if there is no folder.
func filesIn(folder string) func(name string) (string, error) {
	if folder == "" {
		return nil
	}
	texts, total := map[string]string{}, 0
	return func(name string) (string, error) {
		if text, ok := texts[name]; ok {
			return text, nil
		}
		data, err := readIn(folder, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", errors.New("no such file")
		case err != nil:
			return "", errors.New(problemOf(err))
		case len(data) > maxPromptFileBytes:
			return "", fmt.Errorf("it has more than %d bytes (max_prompt_file_bytes)", maxPromptFileBytes)
		}
		text := strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd"))
		if total += len(text); total > maxPromptFilesBytes {
			return "", fmt.Errorf("all files have more than %d bytes (max_prompt_files_bytes)", maxPromptFilesBytes)
		}
		texts[name] = text
		return text, nil
	}
}

// Guarded returns the files of prompts and instructions of a workflow that are used only for
// trusted documents: files that are not written for human readers and, with their full paths, files
// outside the project of the document in dir.
func Guarded(w *workflow.Workflow, dir string) []string {
	out := slices.DeleteFunc(instructionFiles(w), isOpen)
	for _, name := range wants(w).files {
		if !isOpen(name) {
			out = append(out, name)
			continue
		}
		_, folder, err := readPromptFile(dir, name)
		if err == nil && folder != "" && !inProject(folder, dir) {
			out = append(out, filepath.Join(folder, filepath.FromSlash(name)))
		}
	}
	return out
}

// instructionFiles returns the files that a workflow, and those that its steps run, have their
// instructions from.
func instructionFiles(w *workflow.Workflow) []string {
	var out []string
	for _, part := range withNested(w) {
		out = append(out, part.Source.Files...)
		for _, name := range slices.Sorted(maps.Keys(part.Called)) {
			if sub := part.Called[name]; sub != nil {
				out = append(out, instructionFiles(sub)...)
			}
		}
	}
	return out
}

// inProject reports whether a folder, which is dir or an ancestor of it, belongs to the project of
// a document in dir: to the repository around it or, if there is none, to dir alone. The home
// folder belongs to no project.
func inProject(folder, dir string) bool {
	at, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	if folder == at {
		return true
	}
	home, err := os.UserHomeDir()
	return err == nil && folder != home && strings.HasPrefix(at, folder) && inRepository(folder)
}

// isOpen reports whether any document may name a prompt file (SEC5).
func isOpen(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") {
			return false
		}
	}
	return slices.Contains(openExtensions, strings.ToLower(path.Ext(name)))
}

// Facts returns the facts of the world for the agents of a workflow, in the form of
// event.RunCreated.Facts: they are collected once for a run and stored with it. dir is the folder
// of the document; if it is "", no files are read. A missing file is left out.
//
// It returns an *InvalidError for a file that is too large or cannot be read.
func (c *Catalog) Facts(w *workflow.Workflow, dir string) (map[string]string, error) {
	want := wants(w)
	facts := map[string]string{}
	if want.date {
		facts[event.FactDate] = "Today's date: " + time.Now().Format("2006-01-02 (Monday)")
	}
	if want.environment {
		facts[event.FactEnvironment] = environment(dir)
	}
	total := 0
	for _, name := range want.files {
		text, folder, err := readPromptFile(dir, name)
		if err != nil {
			return nil, err
		}
		if total += len(text); total > maxPromptFilesBytes {
			return nil, failure.Refuse(errcode.FileTooLarge, errcode.Fields{"file": "the text of all prompt files",
				"max": maxPromptFilesBytes, "limit": "max_prompt_files_bytes"}, nil)
		}
		switch {
		case folder != "":
			facts[event.FactFile+name] = "Instructions from " + name + ":\n\n" + text
		case c.cfg.Logger != nil:
			c.cfg.Logger.Warn("prompt file not found", "file", name, "dir", dir)
		}
	}
	if len(facts) == 0 {
		return nil, nil
	}
	return facts, nil
}

// environment describes the environment in which a run executes.
func environment(dir string) string {
	var b strings.Builder
	b.WriteString("Here is some information about the environment:\n<env>\n")
	if wd, err := os.Getwd(); err == nil && dir != "" {
		repository := "no"
		if inRepository(wd) {
			repository = "yes"
		}
		fmt.Fprintf(&b, "Working directory: %s\nIs a git repository: %s\n", strings.ToValidUTF8(wd, "\ufffd"),
			repository)
	}
	fmt.Fprintf(&b, "Operating system: %s\nCPU architecture: %s\n</env>", runtime.GOOS, runtime.GOARCH)
	return b.String()
}

// inRepository reports whether a folder or one of its ancestors holds a git repository.
func inRepository(dir string) bool {
	for range maxFolders {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return false
		}
		dir = up
	}
	return false
}

// promptFolders returns the folders in which prompt files are searched: the document's, its
// ancestors, and the home folder last.
func promptFolders(dir, name string) []string {
	if dir == "" {
		return nil
	}
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	var out []string
	for range maxFolders {
		out = append(out, at)
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at = up
	}
	if home, err := os.UserHomeDir(); err == nil && !strings.Contains(name, "/") && !slices.Contains(out, home) {
		out = append(out, home)
	}
	return out
}

// readPromptFile reads the first file with that name and returns its folder, or "" if there is
// none. Each folder is a separate root: neither the name nor a link leads out of it (SEC16).
func readPromptFile(dir, name string) (text, folder string, err error) {
	if !workflow.IsLocalName(name) {
		return "", "", failure.Refuse(errcode.FileUnreadable,
			errcode.Fields{"file": "prompt file " + name, "problem": "it is outside the folder of the document"}, nil)
	}
	for _, folder := range promptFolders(dir, name) {
		data, err := readIn(folder, name)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		case err != nil:
			return "", "", failure.Refuse(errcode.FileUnreadable,
				errcode.Fields{"file": "prompt file " + name, "problem": err.Error()}, err)
		case len(data) > maxPromptFileBytes:
			return "", "", failure.Refuse(errcode.FileTooLarge, errcode.Fields{"file": "prompt file " + name,
				"max": maxPromptFileBytes, "limit": "max_prompt_file_bytes"}, nil)
		default:
			return strings.TrimSpace(strings.ToValidUTF8(string(data), "\ufffd")), folder, nil
		}
	}
	return "", "", nil
}

func readIn(folder, name string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	st, err := root.Stat(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxPromptFileBytes+1))
}

// missingPromptFiles returns warnings about missing prompt files.
func missingPromptFiles(w *workflow.Workflow, dir string) (out diag.List) {
	if w == nil || dir == "" {
		return nil
	}
	for _, name := range wants(w).files {
		if !workflow.IsLocalName(name) {
			continue // Validate reports it
		}
		if _, folder, err := readPromptFile(dir, name); err == nil && folder == "" {
			out.Warnf(diag.Span{File: w.Source.File}, "", "missing-file", "prompt file %q not found", name).Hint =
				"it is searched in the folder of the document, its parent folders and your home folder; the agent " +
					"runs without it"
		}
	}
	return out
}
