package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/format/agents"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/internal/tool/search"
	"github.com/hocket-run/hocket/workflow"
)

// MaxDocumentBytes is the maximum size of documents and their accompanying files (SEC17).
const MaxDocumentBytes = 8 << 20

// missingTools returns tools that documents may name but that are not available here (S0-55).
func missingTools(c *config.Config, env func(string) string) []string {
	if env == nil {
		env = func(string) string { return "" }
	}
	isSearch := func(s tool.Spec) bool { return s.Type == tool.TypeWebSearch }
	lookup := func(name string) (string, bool) { v := env(name); return v, v != "" }
	if c.Search.Native || slices.ContainsFunc(c.Toolsets, isSearch) ||
		search.Configured(search.Config{Lookup: lookup}) {
		return nil
	}
	return []string{search.Name}
}

// LoadOptions specify how a document is read.
type LoadOptions struct {
	// Formats read the document; if nil, the error is documents.ErrNone.
	Formats documents.Formats
	// Format is the name of one of Formats; "" means that it is detected.
	Format string
	// AgentsFile holds agent definitions; a definition inside the document takes precedence. `-`
	// means Stdin, which may be nil otherwise.
	AgentsFile string
	Stdin      io.Reader
	// AgentsText is the content of AgentsFile if the caller has already read it, possibly on
	// another machine; nil means that the file is read.
	AgentsText []byte
	// Agents are definitions with lower precedence than those of AgentsFile.
	Agents []workflow.Agent
	// Dir is the folder of the document; missing prompt files result in warnings. "" disables the
	// check.
	Dir string
	// Folder is the folder of the document, in which it finds the workflow files that its steps run
	// and the files of instructions. "" means that it cannot name any.
	Folder string
	// skipFiles means that the files of the document are read elsewhere.
	skipFiles bool
	// Providers are model providers that documents may name in addition to the known ones.
	Providers []string
	// Operator is the operator's configuration, whose providers and servers documents may name; nil
	// means that there is none.
	Operator *config.Config
	// AllowUnknown turns unknown keys and types of toolsets into warnings, in the document and in
	// AgentsFile; see [diag.List.AllowUnknown].
	AllowUnknown bool
	// Env is the environment, whose variables determine which tools are available; nil means that
	// none is set.
	Env func(string) string
	// Retired enables warnings about retired models. Model is the model that overrides those of all
	// agents; "" overrides none. Offline means that no model is called, so that there are no such
	// warnings. Now is the clock; nil means the system clock.
	Retired bool
	Model   string
	Offline bool
	Now     func() time.Time
	// Catalog returns the agents of the catalog with the problems of the wanted ones; nil means
	// that there are none. It is called only if the document names agents that neither it nor
	// AgentsFile defines.
	Catalog func(ctx context.Context, wanted []string) ([]workflow.Agent, diag.List, error)
}

// ReadFile reads a file that the user specified; `-` means in.
func ReadFile(path string, in io.Reader) ([]byte, error) {
	var src io.Reader
	if path == "-" {
		if src = in; in == nil {
			return nil, failure.Refuse(errcode.FileUnreadable,
				errcode.Fields{"file": "standard input", "problem": "it cannot be read here"}, nil)
		}
	} else {
		f, err := os.Open(path)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, failure.Refuse(errcode.FileUnreadable,
					errcode.Fields{"file": path, "problem": "no such file", "meant": similarFile(path)}, err)
			}
			return nil, failure.Refuse(errcode.FileUnreadable, errcode.Fields{"file": path, "problem": problemOf(err)},
				err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, failure.Refuse(errcode.FileUnreadable,
				errcode.Fields{"file": path, "problem": "it is a folder, not a document"}, nil)
		}
		src = f
	}
	data, err := io.ReadAll(io.LimitReader(src, MaxDocumentBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(data) > MaxDocumentBytes {
		return nil, failure.Refuse(errcode.FileTooLarge, errcode.Fields{"file": path, "max": MaxDocumentBytes,
			"limit": "document-too-large"}, nil)
	}
	return data, nil
}

// problemOf returns the problem with a file, without its name.
func problemOf(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

// maxSiblings is the maximum number of files searched for the intended one.
const maxSiblings = 1000

// similarFile returns the name of the sibling of a missing file with the most similar name, or ""
// if there is none.
func similarFile(path string) string {
	dir, name := filepath.Split(path)
	d, err := os.Open(cmp.Or(dir, "."))
	if err != nil {
		return ""
	}
	defer d.Close()
	entries, err := d.ReadDir(maxSiblings)
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if near := diag.Suggest(name, names); near != "" {
		return "did you mean " + dir + near + "?"
	}
	return ""
}

// Load reads a document and returns its workflow with every problem found, including warnings. The
// workflow may run if the list has no errors. The error is for files that cannot be read.
func Load(ctx context.Context, file string, data []byte, opts LoadOptions) (*workflow.Workflow, diag.List, error) {
	extra, problems, err := opts.agents()
	if err != nil {
		return nil, nil, err
	}
	w, ds, err := read(ctx, file, data, opts, withoutIDs(extra, opts.Agents))
	return w, slices.Concat(problems, ds, missingPromptFiles(w, opts.Dir), opts.RetiredModels(w)), err
}

// withoutIDs returns the agents of list, followed by those of more whose ids are not in it.
func withoutIDs(list, more []workflow.Agent) []workflow.Agent {
	out := slices.Clip(list)
	for i := range more {
		if !slices.ContainsFunc(list, func(a workflow.Agent) bool { return a.ID == more[i].ID }) {
			out = append(out, more[i])
		}
	}
	return out
}

// Load reads a document with the agents, the providers, the operator's configuration and the
// catalog of c.
func (c *Catalog) Load(ctx context.Context, file string, data []byte, opts LoadOptions) (
	*workflow.Workflow, diag.List, error) {
	return Load(ctx, file, data, c.known(opts))
}

// known adds to options what c knows, whatever the source of a document.
func (c *Catalog) known(opts LoadOptions) LoadOptions {
	opts.Formats = c.cfg.Documents.Formats
	opts.Agents = withoutIDs(opts.Agents, c.cfg.Agents)
	opts.Providers = c.cfg.Providers
	opts.Operator, opts.Env = c.cfg.Operator, c.cfg.Env
	opts.Catalog = c.CatalogAgents
	opts.Model, opts.Offline = cmp.Or(opts.Model, c.cfg.Model), opts.Offline || c.cfg.Offline
	if opts.Now == nil {
		opts.Now = c.cfg.Now
	}
	return opts
}

// agents reads the agents file.
func (o LoadOptions) agents() ([]workflow.Agent, diag.List, error) {
	if o.AgentsFile == "" {
		return nil, nil, nil
	}
	text := o.AgentsText
	if text == nil {
		var err error
		if text, err = ReadFile(o.AgentsFile, o.Stdin); err != nil {
			return nil, nil, err
		}
	}
	list, problems := agents.Read(o.AgentsFile, text)
	if o.AllowUnknown {
		problems.AllowUnknown()
	}
	return list, problems, nil
}

// read reads a document with agents from outside it, and with those of the catalog after them.
func read(ctx context.Context, file string, data []byte, opts LoadOptions, extra []workflow.Agent) (
	*workflow.Workflow, diag.List, error) {
	if opts.Formats == nil {
		return nil, nil, documents.ErrNone
	}
	if opts.Operator == nil {
		opts.Operator = &config.Config{}
	}
	opts.Providers = slices.Concat(opts.Providers, slices.Sorted(maps.Keys(opts.Operator.Providers)))
	fo := documents.Options{Servers: slices.Sorted(maps.Keys(opts.Operator.MCPs)), Format: opts.Format,
		Toolsets: kinds.Names(kinds.Supported()), Providers: slices.Concat(opts.Providers, model.Known()),
		MissingTools: missingTools(opts.Operator, opts.Env), Agents: extra, AllowUnknown: opts.AllowUnknown,
		MaxNodes: opts.Operator.Limits.DocumentNodes, File: filesIn(opts.Folder)}
	if err := inflight.From(ctx).Reserve(workBytes(data)); err != nil {
		return nil, nil, err
	}
	w, ds := opts.Formats.Read(file, data, fo)
	wanted := missing(ds)
	if len(wanted) == 0 || opts.Catalog == nil {
		return opts.finish(ctx, w, file, data, ds, extra)
	}
	more, problems, err := opts.Catalog(ctx, wanted)
	if err != nil {
		return nil, nil, err
	}
	if len(more) > 0 {
		fo.Agents = slices.Concat(extra, more)
		w, ds = opts.Formats.Read(file, data, fo)
	}
	for i := range ds {
		id, isMissing := missingAgent(ds[i])
		broken := func(d diag.Diagnostic) bool {
			return d.Severity == diag.Error && strings.HasPrefix(d.Span.File+".", catalog.AgentsFile+"/"+id+".")
		}
		switch {
		case !isMissing:
		case slices.ContainsFunc(problems, broken):
			ds[i].Hint, ds[i].Remedy = "its row in the table agents has errors", ""
		case !strings.HasPrefix(ds[i].Hint, "did you mean"):
			ds[i].Advise(diag.DefineAgent)
		}
	}
	return opts.finish(ctx, w, file, data, append(problems, ds...), extra)
}

// Memory that a document costs at most until its request ends, in bytes: for each byte of its text,
// and for each of its values with what is made of it: its part of the tree and of the graph,
// problems, drawing and answer. TestWorkBytes compares them with what is allocated.
const (
	workOfByte  = 8
	workOfValue = 800
)

// anchored and aliased match an anchor and an alias of YAML, and text that looks like one. An
// anchor may follow a tag; both may be the first in their line, as after a comment.
var (
	anchored = regexp.MustCompile(`(?m)(?:^|[-:,\[{?\r\x{85}\x{2028}\x{2029}]|!\S*)[ \t\r\n]*&[^\s&]`)
	aliased  = regexp.MustCompile(`(?m)(?:^|[-:,\[{?\r\x{85}\x{2028}\x{2029}])[ \t\r\n]*\*[^\s*]`)
)

// workBytes returns the memory that a document may cost, from its text alone, since reading it is
// what costs. Its values are at most the characters that begin one, often fewer.
func workBytes(data []byte) int64 {
	values := 1
	for _, b := range data {
		switch b {
		case ':', ',', '[', '{', '-':
			values++
		}
	}
	if anchored.Match(data) {
		for range aliased.FindAllIndex(data, 20) {
			values = min(2*values, source.DefaultMaxValues) // an alias repeats at most everything before it
		}
	}
	values = min(values, source.DefaultMaxValues)
	return workOfByte*int64(len(data)) + workOfValue*int64(values)
}

// finish reads the files that a document refers to, and adds the problems of its toolsets.
func (o LoadOptions) finish(ctx context.Context, w *workflow.Workflow, file string, data []byte, ds diag.List,
	extra []workflow.Agent) (*workflow.Workflow, diag.List, error) {
	if w != nil && !o.skipFiles && !ds.HasFaults() {
		problems, err := o.called(ctx, w, file, extra)
		if err != nil {
			return nil, nil, err
		}
		ds = append(ds, problems...)
	}
	return w, o.withToolsets(w, file, data, ds), nil
}

// withToolsets adds the problems of the toolsets and of the permissions of a document: formats keep
// the options of toolsets as they are written, and do not know the tools that permissions name.
func (o LoadOptions) withToolsets(w *workflow.Workflow, file string, data []byte, ds diag.List) diag.List {
	if w == nil {
		return ds
	}
	_, more := DocumentSpecs(w)
	placeToolsets(file, data, more)
	more = append(more, o.permissionProblems(w, file, data)...)
	if o.AllowUnknown {
		more.AllowUnknown()
	}
	return append(ds, more...)
}

// codeMissingAgent is the diagnostic code for an agent that a document names but that is not
// defined (S1-6, S3-21, S4-2).
const codeMissingAgent = "unknown-agent"

// missingAgent returns the agent that a diagnostic reports as missing.
func missingAgent(d diag.Diagnostic) (string, bool) {
	return d.Name, d.Code == codeMissingAgent && d.Severity == diag.Error && d.Name != ""
}

// missing returns the agents that a document names but that are not defined, without duplicates.
func missing(list diag.List) (ids []string) {
	for _, d := range list {
		if id, ok := missingAgent(d); ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// PlaceOf returns the location of a document: the absolute path of its file with all links
// resolved. It is empty for standard input (`-`) and for a path that leads nowhere.
func PlaceOf(path string) string {
	if path == "-" {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	place, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return ""
	}
	return place
}
