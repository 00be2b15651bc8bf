package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/workflow"
)

// inputFlags are the flags for the named inputs of a run.
type inputFlags struct {
	set, files []string
	from       string
}

func (f *inputFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil,
		"give the input NAME a value: `NAME=VALUE` (repeatable; a list if NAME is repeated)")
	fl.StringArrayVar(&f.files, "set-file", nil, "give the input NAME a file: `NAME=PATH` (repeatable)")
	fl.StringVar(&f.from, "input-file", "",
		"read named inputs from `FILE`, a JSON object; --set and --set-file replace its members")
	must(c.MarkFlagFilename("input-file", "json"))
}

// addFields adds the flags for the fields of an answer.
func (f *inputFlags) addFields(c *cobra.Command) {
	fl := c.Flags()
	fl.StringArrayVar(&f.set, "set", nil,
		"answer the field NAME of a question: `NAME=VALUE` (repeatable; a list if NAME is repeated)")
	fl.StringArrayVar(&f.files, "set-file", nil,
		"answer the field NAME with a file: `NAME=PATH` (repeatable); its text if the field takes a text")
}

// empty reports whether none of the flags was set.
func (f *inputFlags) empty() bool { return len(f.set)+len(f.files) == 0 && f.from == "" }

// named returns the inputs as a JSON object, or nil if there are none.
func (f *inputFlags) named() (json.RawMessage, error) {
	if f.empty() {
		return nil, nil
	}
	return f.values(func(_, path string) (json.RawMessage, error) { return fileInput(path) })
}

// values returns the values of the flags as a JSON object; file reads the file for a name.
func (f *inputFlags) values(file func(name, path string) (json.RawMessage, error)) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if f.from != "" {
		data, err := readInput(f.from, service.MaxDocumentBytes, "max_document_bytes")
		if err != nil {
			return nil, usageErrorf("--input-file: %v", err)
		}
		if at, found := source.NotUTF8(data); found {
			return nil, usageErrorf("--input-file %s:%d:%d: not UTF-8 text", f.from, at.Line, at.Column)
		}
		if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\uFEFF")), &all); err != nil || all == nil {
			return nil, usageErrorf("--input-file %s: it must be a JSON object with the inputs by name", f.from)
		}
	}
	texts := map[string][]string{}
	for _, arg := range f.set {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, mustBe("set", "NAME=VALUE", arg)
		}
		if !utf8.ValidString(value) {
			return nil, usageErrorf("--set %s: the value is not UTF-8 text", name)
		}
		texts[name] = append(texts[name], value)
	}
	for name, values := range texts {
		if all[name] = encoded(values); len(values) == 1 {
			all[name] = encoded(values[0])
		}
	}
	seen := map[string]bool{}
	for _, arg := range f.files {
		name, path, ok := strings.Cut(arg, "=")
		switch {
		case !ok || name == "" || path == "":
			return nil, mustBe("set-file", "NAME=PATH", arg)
		case seen[name] || texts[name] != nil:
			return nil, usageErrorf("--set-file %s: the name is given twice", name)
		}
		seen[name] = true
		value, err := file(name, path)
		if err != nil {
			return nil, usageErrorf("--set-file %s: %v", name, err)
		}
		all[name] = value
	}
	return encoded(all), nil
}

// fileInput returns the content of a file as the value of an input.
func fileInput(path string) (json.RawMessage, error) {
	data, err := readInput(path, workflow.MaxFileBytes, "max_file_bytes")
	if err != nil {
		return nil, err
	}
	return form.NewFile(filepath.Base(path), data), nil
}

// readInput reads a file of at most most bytes, a limit with that name.
func readInput(path string, most int64, limit string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = fmt.Errorf("open %s: %w", path, at.Err)
		}
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(data)) > most {
		return nil, service.Refuse(errcode.FileTooLarge, errcode.Fields{"file": path, "max": most, "limit": limit}, nil)
	}
	return data, nil
}

// encoded returns v as JSON.
func encoded(v any) json.RawMessage {
	b, _ := json.Marshal(v) // strings, lists of strings, and JSON
	return b
}

// askInputs asks the person at the terminal for the missing inputs of a workflow, and returns the
// named inputs with the answers. If nothing is missing, or if there is no terminal, it does not
// ask.
func (a *app) askInputs(w *workflow.Workflow, text string, named json.RawMessage) (json.RawMessage, error) {
	if !a.InTerminal || !a.ErrTerminal || len(form.Missing(w.Inputs, text, named)) == 0 {
		return named, nil
	}
	all := map[string]json.RawMessage{}
	if len(named) > 0 {
		if err := json.Unmarshal(named, &all); err != nil {
			return named, nil //nolint:nilerr // the check of inputs says what is wrong
		}
	}
	open := form.Open(w.Inputs, text, named)
	if missing, err := a.askFields(open, all); err != nil {
		return nil, usageErrorf("no value for %s; nothing was started", missing)
	}
	return encoded(all), nil
}

// askFields asks for one field after another and stores the answers in all. Enter accepts the
// default. If the terminal has no more lines, it returns the name of the field without a value.
func (a *app) askFields(fields []form.Field, all map[string]json.RawMessage) (missing string, err error) {
	for i := range fields {
		f := &fields[i]
		a.poseField(f)
		for {
			fmt.Fprint(a.Err, a.color.bold("> "))
			line, err := a.readLine()
			if err != nil {
				return f.Name, err
			}
			line = strings.TrimSpace(line)
			if line == "" && !f.Required {
				break // the default, or no value
			}
			v, why := a.fieldValue(f, line)
			if why == "" {
				all[f.Name] = v
				break
			}
			fmt.Fprintln(a.Err, printable("it "+why))
		}
	}
	return "", nil
}

func (a *app) fieldValue(f *form.Field, line string) (json.RawMessage, string) {
	if f.File == nil {
		return f.Take(line)
	}
	if line == "" {
		return nil, "is needed: the path of a file"
	}
	v, err := fileInput(line)
	if err != nil {
		return nil, "cannot be read: " + err.Error()
	}
	return v, ""
}

// poseField prints the question for a field.
func (a *app) poseField(f *form.Field) {
	about := f.Kind()
	if f.Description != "" {
		about = f.Description + "; " + about
	}
	if len(f.Enum) > 0 {
		about = f.Description
	}
	if f.File != nil {
		about += ", by its path"
	}
	fmt.Fprintf(a.Err, "\n%s\n", a.color.bold(clean(escaped(f.Label()))))
	if about != "" {
		fmt.Fprintln(a.Err, a.color.dim(clean(escaped(about))))
	}
	for i, v := range f.Enum {
		fmt.Fprintf(a.Err, "  %d. %s\n", i+1, clean(escaped(outputText(v))))
	}
	switch {
	case f.Default != nil:
		fmt.Fprintln(a.Err, a.color.dim("Enter takes "+clean(escaped(outputText(f.Default)))))
	case !f.Required:
		fmt.Fprintln(a.Err, a.color.dim("Enter leaves it out"))
	}
}

// completeInputs completes NAME= for --set and --set-file.
func (a *app) completeInputs(fl *runFlags, files bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if name, _, ok := strings.Cut(prefix, "="); ok {
			if files {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return a.enumOf(c, fl, args, name), cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, f := range a.inputsOf(c, fl, args) {
			if (f.File != nil) == files {
				out = append(out, f.Name+"=\t"+clean(f.Label()))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// enumOf completes the value of an input that is limited to a list of values.
func (a *app) enumOf(c *cobra.Command, fl *runFlags, args []string, name string) []string {
	fields := a.inputsOf(c, fl, args)
	i := slices.IndexFunc(fields, func(f form.Field) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	var out []string
	for _, v := range fields[i].Enum {
		out = append(out, name+"="+outputText(v))
	}
	return out
}

// inputsOf returns the inputs of the workflow that an incomplete command line would run, or nil if
// it cannot be read.
func (a *app) inputsOf(c *cobra.Command, fl *runFlags, args []string) []form.Field {
	var w *workflow.Workflow
	switch {
	case fl.workflow != "":
		s, err := a.openReader(c.Context())
		if err != nil {
			return nil
		}
		defer s.Close()
		w, _, _, _ = s.LoadStored(c.Context(), fl.workflow, service.Which{Draft: fl.draft}, service.LoadOptions{})
	case len(args) > 0 && args[0] != "-":
		data, err := service.ReadFile(args[0], a.In)
		if err != nil {
			return nil
		}
		w, _, _ = loadDocument(c.Context(), args[0], data,
			service.LoadOptions{Format: fl.load.Format, Dir: dirOf(args[0])})
	}
	if w == nil {
		return nil
	}
	return form.Inputs(w.Inputs)
}
