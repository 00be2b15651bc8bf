package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/examples"
)

// initLine is the result of `init --json`.
type initLine struct {
	Template string `json:"template"`
	Format   string `json:"format"`
	Dir      string `json:"dir"`
	// Files were written; Kept existed before and were not changed. Paths are relative to Dir, with
	// slashes.
	Files []string `json:"files"`
	Kept  []string `json:"kept"`
	// Commands run in Dir, offline; the commands in WithModel need an API key of a provider.
	Commands  []string `json:"commands"`
	WithModel []string `json:"withModel"`
}

// templateLine is a template in `init --list --json`.
type templateLine struct {
	Name    string `json:"name"`
	Format  string `json:"format"`
	Summary string `json:"summary"`
}

func (a *app) initCmd() *cobra.Command {
	var (
		dir                 string
		force, list, asJSON bool
	)
	c := &cobra.Command{
		Use: "init [TEMPLATE]", Short: "create a small example project",
		Long: "Writes a workflow, a reply script that replaces the model, and a README.md into\na folder, and prints " +
			"the commands that run them. They need no key and no\n" +
			"network.\n\nWithout TEMPLATE, it asks for one on a terminal; elsewhere it prints the list and\nexits " +
			"with status 2. Existing files are overwritten only with --force: without it,\n" +
			"nothing is written and the exit status is 2. An existing .gitignore is kept.",
		Example: "  hocket init\n  hocket init router --dir demo\n  hocket init --list",
		Args:    checkArgs("[TEMPLATE]"), ValidArgsFunction: completeTemplates,
		RunE: func(c *cobra.Command, args []string) error {
			if list {
				if len(args) > 0 || c.Flags().Changed("dir") || force {
					return usageErrorf("--list writes nothing, so it takes no TEMPLATE, --dir or --force")
				}
				return a.listTemplates(asJSON)
			}
			t, err := a.template(args)
			if err != nil {
				return err
			}
			result, err := writeTemplate(t, dir, force)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, result, a.OutTerminal)
			}
			return a.showNext(t, result)
		},
	}
	f := c.Flags()
	f.StringVar(&dir, "dir", ".", "`DIR` to write into; created if it does not exist")
	f.BoolVar(&force, "force", false, "overwrite files that exist")
	f.BoolVar(&list, "list", false, "list the templates and write nothing")
	f.BoolVar(&asJSON, "json", false, "print what was written, or the list, as JSON")
	must(c.MarkFlagDirname("dir"))
	return c
}

func completeTemplates(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, t := range examples.Templates() {
		names = append(names, cobra.CompletionWithDesc(t.Name, t.Summary))
	}
	return names, orderedWords
}

// template returns the template that args name, or that the person at the terminal chooses.
func (a *app) template(args []string) (examples.Template, error) {
	if len(args) > 0 {
		return findTemplate(args[0])
	}
	var b strings.Builder
	printTemplates(&b)
	if !a.InTerminal || !a.ErrTerminal {
		return examples.Template{},
			usageErrorf("TEMPLATE is required; it is one of\n%s", strings.TrimRight(b.String(), "\n"))
	}
	fmt.Fprint(a.Err, b.String())
	for {
		fmt.Fprintf(a.Err, "%s ", a.color.bold("Template (name or number):"))
		text, err := a.readLine()
		text = strings.TrimSpace(text)
		if errors.Is(err, io.EOF) || err == nil && text == "" {
			return examples.Template{}, usageErrorf("no template was chosen; nothing was written")
		}
		if err != nil {
			return examples.Template{}, err
		}
		all := examples.Templates()
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(all) {
			return all[n-1], nil
		}
		t, err := findTemplate(text)
		if err == nil {
			return t, nil
		}
		fmt.Fprintln(a.Err, printable(err.Error()))
	}
}

func findTemplate(name string) (examples.Template, error) {
	var names []string
	for _, t := range examples.Templates() {
		if t.Name == strings.ToLower(name) {
			return t, nil
		}
		names = append(names, t.Name)
	}
	if s := diag.Suggest(strings.ToLower(name), names); s != "" {
		return examples.Template{}, usageErrorf("unknown template %q; did you mean %q?", name, s)
	}
	return examples.Template{}, usageErrorf("unknown template %q; the templates are %s", name, orList(names))
}

// printTemplates lists the templates, numbered for selection.
func printTemplates(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, t := range examples.Templates() {
		fmt.Fprintf(tw, "  %d\t%s\t%s\t%s\n", i+1, t.Name, t.Format, t.Summary)
	}
	_ = tw.Flush() // a terminal or a buffer
}

func (a *app) listTemplates(asJSON bool) error {
	if asJSON {
		var lines []templateLine
		for _, t := range examples.Templates() {
			lines = append(lines, templateLine{t.Name, t.Format, t.Summary})
		}
		return writeJSON(a.Out, lines, a.OutTerminal)
	}
	return printTable(a, examples.Templates(), "", "TEMPLATE\tFORMAT\tWHAT IT DOES",
		func(t examples.Template) []string { return []string{t.Name, t.Format, t.Summary} })
}

// gitignore excludes the files that running the template creates, and API keys.
const gitignore = "# stores, as of hocket run --db hocket.db\n*.db\n*.db-shm\n*.db-wal\n# keys\n.env\n"

// writeTemplate writes the files of t to dir. If one of them exists, it writes nothing, unless
// force is set; if a later file cannot be written, it removes the files written so far.
func writeTemplate(t examples.Template, dir string, force bool) (initLine, error) {
	result := initLine{Template: t.Name, Format: t.Format, Dir: dir, Kept: []string{}}
	var err error
	if result.Commands, result.WithModel, err = t.Commands(); err != nil {
		return result, err
	}
	files, err := t.Files()
	if err != nil {
		return result, err
	}
	files = append(files, examples.File{Path: ".gitignore", Data: []byte(gitignore)})
	if err := os.MkdirAll(dir, 0o777); err != nil { //nolint:gosec // a project of the user, as mkdir makes it
		return result, usageErrorf("--dir: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return result, usageErrorf("--dir: %v", err)
	}
	defer root.Close() // it was only read

	var exist []string
	files = slices.DeleteFunc(files, func(f examples.File) bool {
		if _, err := root.Lstat(f.Path); err != nil {
			return false // it does not exist, or writing it will report why
		}
		if f.Path == ".gitignore" {
			result.Kept = append(result.Kept, f.Path)
			return true
		}
		exist = append(exist, f.Path)
		return false
	})
	if len(exist) > 0 && !force {
		return result,
			usageErrorf("%s %s in %s; nothing was written; choose another folder with --dir, or overwrite with --force",
				strings.Join(exist, ", "), map[bool]string{true: "exists", false: "exist"}[len(exist) == 1], quote(dir))
	}
	for _, f := range files {
		err := writeNew(root, f, force)
		if err == nil {
			result.Files = append(result.Files, f.Path)
			continue
		}
		if !force {
			for _, p := range result.Files {
				_ = root.Remove(p) // the error below is the one to report
			}
		}
		return result, usageErrorf("%v", err)
	}
	return result, nil
}

// writeNew writes one file. An existing file is an error, or is replaced if force is set. A
// symbolic link is replaced and not followed.
func writeNew(root *os.Root, f examples.File, force bool) error {
	name := filepath.FromSlash(f.Path)
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	if force {
		if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("overwrite %s: %w", f.Path, err)
		}
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	_, err = file.Write(f.Data)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.Path, err)
	}
	return nil
}

// showNext prints the list of written files to standard error, and the commands to standard output.
func (a *app) showNext(t examples.Template, r initLine) error {
	if a.quiet {
		return nil
	}
	fmt.Fprintf(a.Err, "%s: %s\n", a.color.bold(t.Name), t.Summary)
	fmt.Fprintf(a.Err, "wrote %s\n", strings.Join(r.Files, ", "))
	if len(r.Kept) > 0 {
		fmt.Fprintf(a.Err, "kept the existing %s\n", strings.Join(r.Kept, ", "))
	}
	var b strings.Builder
	b.WriteString("\nNext, without a model:\n\n")
	if filepath.Clean(r.Dir) != "." {
		fmt.Fprintf(&b, "  cd %s\n", quote(r.Dir))
	}
	for _, line := range r.Commands {
		fmt.Fprintf(&b, "  %s\n", a.command(line))
	}
	b.WriteString("\nWith a model, if hocket doctor finds its key:\n\n")
	for _, line := range r.WithModel {
		fmt.Fprintf(&b, "  %s\n", a.command(line))
	}
	b.WriteString("\nSee README.md for what to change.\n")
	if _, err := io.WriteString(a.Out, b.String()); err != nil {
		return fmt.Errorf("write commands: %w", err)
	}
	return nil
}

// command colors the comment of a command.
func (a *app) command(line string) string {
	if at := strings.LastIndex(line, " # "); at >= 0 {
		return line[:at] + a.outColor.dim(line[at:])
	}
	return line
}
