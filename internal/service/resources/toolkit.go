package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service/definition"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/api"
	runner "github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/fetch"
	"github.com/hocket-run/hocket/internal/tool/files"
	"github.com/hocket-run/hocket/internal/tool/kinds"
	"github.com/hocket-run/hocket/internal/tool/memory"
	"github.com/hocket-run/hocket/internal/tool/script"
	"github.com/hocket-run/hocket/internal/tool/search"
	"github.com/hocket-run/hocket/internal/tool/shell"
	"github.com/hocket-run/hocket/internal/tool/think"
	"github.com/hocket-run/hocket/internal/tool/todo"
	"github.com/hocket-run/hocket/internal/tool/userprompt"
	"github.com/hocket-run/hocket/workflow"
)

func (op *Opener) openTools(ctx context.Context, info driver.Info, calls tool.Type, kit *driver.RunResources) error {
	cfg := tool.Config{
		MaxResultBytes: int(op.cfg.Operator.Limits.ResultBytes), Agents: map[string]tool.Grant{}, Types: op.types(info,
			calls), Builtin: op.cfg.Tools, Fallback: op.fallbacks(), Logger: op.cfg.Logger.With("run", info.Run),
	}
	if err := op.AskAgain(info.Run, info.Meta); err != nil {
		return err
	}
	if err := op.grantTools(ctx, info, &cfg); err != nil {
		return err
	}
	cfg.AllowUnknown = info.Meta[MetaAllowUnknown] != ""
	cfg.CallTimeout = time.Duration(op.cfg.Operator.Limits.ToolTimeout)
	if err := op.permit(ctx, info, &cfg); err != nil {
		return err
	}
	set, err := tool.NewSet(cfg)
	if err != nil {
		return err
	}
	kit.Tools = cleanTools{set, op.cfg.Keeper}
	return nil
}

// Recorded returns the resources that reconstruct the requests of a run's model calls from its
// journal: pins are the tool definitions that it recorded. Nothing is opened, no key is needed, and
// no call can be made.
func (op *Opener) Recorded(ctx context.Context, info driver.Info, pins tool.Pins) (*driver.RunResources, error) {
	cfg := tool.Config{Agents: map[string]tool.Grant{}, Builtin: op.cfg.Tools, Fallback: op.fallbacks(), Pins: pins,
		Recorded: true}
	if err := op.grantTools(ctx, info, &cfg); err != nil {
		return nil, err
	}
	set, err := tool.NewSet(cfg)
	if err != nil {
		return nil, err
	}
	return &driver.RunResources{DefaultModel: op.defaultModel(), Tools: cleanTools{set, op.cfg.Keeper}},
		nil
}

// grantTools sets the toolsets and tools of a run's agents: those of its document, of the operator
// and of its tools file.
func (op *Opener) grantTools(ctx context.Context, info driver.Info, cfg *tool.Config) error {
	if err := grants(info.Workflow, info.Meta[MetaTrusted], cfg.Agents); err != nil {
		return err
	}
	if err := operatorSpecs(op.cfg.Operator, cfg.Agents); err != nil {
		return err
	}
	data, err := info.File(ctx, FileTools)
	if g := op.replacementOf(info.Run); g != nil && g.tools != nil {
		data, err = g.tools, nil
	}
	switch {
	case err == nil:
		specs, err := parseTools("tools", data)
		if err != nil {
			return fmt.Errorf("read tools file: %w", err)
		}
		for i := range specs {
			specs[i].Trusted = true // the operator's own file (SEC5)
		}
		cfg.Extra = specs
	case !errors.Is(err, journal.ErrNotFound):
		return err
	}
	cfg.Extra = append(cfg.Extra, extraToolsets(op.cfg.Operator, cfg.Agents)...)
	return nil
}

// grants collects what each agent of a workflow may use, including agents of its sub-flows (SEC13),
// and under the empty agent id what its tool nodes may use. trusted is the hash of the
// allowed commands. Agents are identified by id across all flows, so two with the same id must have
// the same grant.
func grants(w *workflow.Workflow, trusted string, into map[string]tool.Grant) error {
	all, problems := definition.DocumentSpecs(w)
	problems.AllowUnknown() // as decided at the start of the run
	if err := problems.Err(); err != nil {
		return err
	}
	return grantAll(w, trusted != "" && TrustOf(all) == trusted, into)
}

func grantAll(w *workflow.Workflow, allowed bool, into map[string]tool.Grant) error {
	for _, a := range w.Callers() {
		var g tool.Grant
		if a.ID == "" {
			g = into[""] // of all flows together
		}
		g.Names, g.Delegates = slices.Concat(g.Names, a.Tools), a.Delegates()
		for _, p := range a.Permissions {
			g.Permissions = append(g.Permissions, tool.Permissions(p))
		}
		for _, raw := range a.Toolsets {
			var sp tool.Spec
			if err := json.Unmarshal(raw, &sp); err != nil {
				return fmt.Errorf("agent %q: toolset: %w", a.ID, err)
			}
			sp.Trusted = allowed
			if a.ID == "" && slices.ContainsFunc(g.Toolsets, func(o tool.Spec) bool {
				return reflect.DeepEqual(o, sp)
			}) {
				continue // it is of another flow: steps run one workflow in several places
			}
			g.Toolsets = append(g.Toolsets, sp)
		}
		if was, ok := into[a.ID]; ok && a.ID != "" && !reflect.DeepEqual(was, g) {
			return failure.Refuse(errcode.AgentAmbiguous, errcode.Fields{"agent": a.ID}, nil)
		}
		into[a.ID] = g
	}
	for _, name := range slices.Sorted(maps.Keys(w.Flows)) {
		if err := grantAll(w.Flows[name], allowed, into); err != nil {
			return err
		}
	}
	return nil
}

// CheckTrust rejects a document that requests what is not allowed, and records in a run's meta what
// was allowed (SEC5). opens is what an approval would allow in addition, keys sent to providers and
// private addresses: it is shown with the rest, and is not a reason to ask by itself. It is called
// only if a person is asked.
func CheckTrust(specs []tool.Spec, asks failure.CommandsError, opens func() failure.CommandsError, trust bool,
	meta map[string]string) error {
	access := tool.Access(specs, "")
	if len(access) > 0 {
		if err := noteFolder(meta); err != nil {
			return err
		}
		access = tool.Access(specs, meta[metaDir])
	}
	asks.Commands, asks.Access, asks.Sends = tool.Commands(specs), append(access, asks.Access...),
		append(environmentSent(specs), asks.Sends...)
	if !trust && len(asks.Commands)+len(asks.Access)+len(asks.Sends) > 0 {
		more := opens()
		asks.Access, asks.Sends = append(asks.Access, more.Access...), append(asks.Sends, more.Sends...)
		return &asks
	}
	if trust {
		meta[MetaTrusted] = TrustOf(specs)
	}
	return nil
}

// noteFolder records the folder against which relative paths of a run's tools are resolved: what a
// person allowed in one folder does not apply to another when the run is resumed elsewhere.
func noteFolder(meta map[string]string) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	meta[metaDir] = dir
	return nil
}

// types returns the kinds of toolsets that Hocket can open.
func (op *Opener) types(info driver.Info, calls tool.Type) map[string]tool.Type {
	dir := op.folder(info.Meta) // base of relative paths
	programs := runner.Config{Dir: dir, Environ: os.Environ, Expand: op.expand}
	web := op.apiConfig(dir)
	types := map[string]tool.Type{
		tool.TypeFilesystem: files.Type(files.Config{Dir: dir, Own: op.ownFiles()}),
		tool.TypeMemory:     memory.Type(memory.Config{Store: op.cfg.Memory, Owner: originOf(info)}),
		tool.TypeMCP: {Open: func(spec tool.Spec) (tool.Toolset, error) {
			return op.openMCP(spec, info.Run, dir)
		}},
		tool.TypeScript:     script.Type(programs),
		tool.TypeShell:      shell.Type(programs),
		tool.TypeThink:      think.Type(),
		tool.TypeTodo:       todo.Type(),
		tool.TypeWorkflow:   calls,
		tool.TypeUserPrompt: userprompt.Type(),
		tool.TypeFetch:      fetch.Type(fetch.Config{HTTP: op.fetchClient, Pages: op.cfg.Pages}),
		tool.TypeAPI:        api.Type(web),
		tool.TypeOpenAPI:    api.OpenAPI(web),
		tool.TypeWebSearch:  search.Type(op.searchConfig()),
	}
	for name, typ := range types {
		if k, ok := kinds.Of(name); ok && !k.Guarded {
			continue
		}
		open := typ.Open
		typ.Open = func(spec tool.Spec) (tool.Toolset, error) {
			// a file may have changed since the run was resumed
			if err := op.AskAgain(info.Run, info.Meta); err != nil {
				return nil, tool.Errorf(tool.KindUntrusted, spec.Title(), "toolset %q: %w", spec.Title(), err)
			}
			return open(spec)
		}
		types[name] = typ
	}
	return types
}

// expand replaces the references in a variable of a trusted toolset.
func (op *Opener) expand(text string) (string, error) {
	var missing error
	out := reference.ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$$" {
			return "$"
		}
		v, err := op.secretOf().Value(ref)
		if err != nil && missing == nil {
			missing = fmt.Errorf("variable %w", err)
			if strings.HasPrefix(nameIn(ref), secret.FilePrefix) {
				missing = err
			}
		}
		return v
	})
	return out, missing
}

// openMCP opens an MCP toolset. A toolset for which the operator vouches may be at a private
// address and receive values of our environment (D34); a toolset that only the document names may
// do neither. A program is resolved against dir, the folder of the run, wherever this process is.
func (op *Opener) openMCP(spec tool.Spec, run, dir string) (tool.Toolset, error) {
	if spec.Command != "" && dir != "" {
		spec.Dir = under(dir, spec.Dir)
	}
	if op.cfg.Documents.MCP == nil {
		return nil, tool.Errorf(tool.KindFailed, spec.Title(), "toolset %q: %w", spec.Title(), documents.ErrNoMCP)
	}
	cfg := documents.MCPConfig{Environ: os.Environ, Version: op.cfg.Version, Logger: op.cfg.Logger.With("run", run)}
	var allow []string
	if spec.Trusted {
		if err := op.checkFiles(spec); err != nil {
			return nil, err
		}
		cfg.Lookup = op.lookup
		if spec.Remote != nil {
			allow = []string{op.address(spec.Remote.URL)}
		}
	}
	cfg.HTTPClient = op.client(allow...)
	return op.cfg.Documents.MCP(cfg).Open(spec)
}

// reference matches a variable in the address or a header of a remote toolset; a doubled dollar
// sign is not a variable.
var reference = regexp.MustCompile(`\$\$|\$\{\s*(?:env\.)?[A-Za-z_]\w*\s*\}|\$\{\s*file:[^}]+\}|\$[A-Za-z_]\w*`)

func nameIn(ref string) string {
	return strings.TrimPrefix(strings.TrimSpace(strings.Trim(ref, "${}")), "env.")
}

// environmentSent returns which environment variables the remote toolsets of a document would send
// where: `NAME to ADDRESS`.
func environmentSent(specs []tool.Spec) []string {
	var out []string
	for _, s := range specs {
		to, texts := webSends(s)
		if s.Remote != nil {
			to, texts = s.Remote.URL, append(sortedValues(s.Remote.Headers), s.Remote.URL)
		}
		for _, text := range texts {
			for _, ref := range reference.FindAllString(text, -1) {
				if line := nameIn(ref) + " to " + to; ref != "$$" && !slices.Contains(out, line) {
					out = append(out, line)
				}
			}
		}
	}
	return out
}

// KeysSent returns the keys that the providers of a trusted document receive at its own addresses,
// as lines of CommandsError.Sends: approving anything that the document requests approves these too
// (SEC11).
func KeysSent(w *workflow.Workflow) []string {
	var out []string
	for name, p := range allProviders(w) {
		switch {
		case p.BaseURL == "":
		case p.KeyEnv != "":
			out = append(out, p.KeyEnv+" to "+p.BaseURL)
		case name == p.Kind:
			out = append(out, "the key of "+name+" to "+p.BaseURL)
		case strings.Contains(p.BaseURL, "${"):
			out = append(out, "the variables in it to "+p.BaseURL)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allProviders returns the providers, by name, of a workflow and of every graph in it or called by
// it, at any depth. The order is undefined, and a name may occur more than once.
func allProviders(w *workflow.Workflow) iter.Seq2[string, workflow.Provider] {
	return func(yield func(string, workflow.Provider) bool) {
		seen := map[*workflow.Workflow]bool{w: true}
		for todo := []*workflow.Workflow{w}; len(todo) > 0; {
			f := todo[0]
			todo = todo[1:]
			for name, p := range f.Providers {
				if !yield(name, p) {
					return
				}
			}
			for _, g := range slices.Concat(slices.Collect(maps.Values(f.Flows)), f.Branches,
				slices.Collect(maps.Values(f.Called))) {
				if g != nil && !seen[g] {
					seen[g] = true
					todo = append(todo, g)
				}
			}
		}
	}
}

// TrustOf returns the identity of what was trusted: the hash of the commands, or a marker that
// there are none.
func TrustOf(specs []tool.Spec) string {
	if h := tool.TrustHash(specs); h != "" {
		return h
	}
	return "no commands"
}
