package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) doctorCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "show the configuration, store, providers and tools that are found", Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			r := findings{Report: service.Diagnose(c.Context(), a.config()), MemoryLimit: memlimit.Current().Bytes}
			if r.Store.Exists && r.Store.Problem == "" && !a.entered {
				r.Server = a.findServer(c.Context())
			}
			r.Config.Path, r.Config.Problem = a.configReport()
			r.Temporal = a.findTemporal(c.Context())
			if asJSON {
				if err := writeJSON(a.Out, r, a.OutTerminal); err != nil {
					return err
				}
			} else if err := a.showReport(r); err != nil {
				return err
			}
			if r.Store.Problem != "" || a.operatorBad.HasErrors() || r.Temporal != nil && r.Temporal.Problem != "" {
				return &exit{status: ExitFailed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	a.addTemporalFlags(c)
	c.Flags().Lookup("temporal").Usage = "show what can be found out about the Temporal server at `HOST:PORT` " +
		"(default: from hocket.yaml, else none)"
	return c
}

// findings is the output of doctor.
type findings struct {
	service.Report
	// MemoryLimit is the memory limit of the process, in bytes.
	MemoryLimit int64           `json:"memoryLimit"`
	Server      *serverFindings `json:"server,omitempty"`
	// Temporal is nil if neither flags nor configuration name a server.
	Temporal *temporalFindings `json:"temporal,omitempty"`
}

// serverFindings is what a server on the store would find.
type serverFindings struct {
	Namespaces []string `json:"namespaces"`
	// TokenFile is the file in which clients on this machine find the token of a fresh
	// installation.
	TokenFile   string `json:"tokenFile"`
	TokenExists bool   `json:"tokenExists"`
}

// findServer reads the namespaces, or returns nil if the store cannot list them.
func (a *app) findServer(ctx context.Context) *serverFindings {
	names, err := a.namespaces(ctx)
	at, wrong := a.config().Locator()
	if err != nil || wrong != nil {
		return nil
	}
	f := &serverFindings{Namespaces: names, TokenFile: at.Beside(server.TokenFile)}
	_, err = os.Stat(f.TokenFile)
	f.TokenExists = err == nil
	return f
}

func (a *app) showServer(w io.Writer, f *serverFindings) {
	if f == nil {
		return
	}
	fmt.Fprintf(w, "namespaces\t%s\n", strings.Join(f.Namespaces, ", "))
	if f.TokenExists {
		fmt.Fprintf(w, "token file\t%s\n", f.TokenFile)
	} else {
		fmt.Fprintf(w, "token file\t%s\tnot found; hocket serve creates it if there is no token\n", f.TokenFile)
	}
}

// toolColumns is the maximum width of a toolset's type, including the gap after it.
const toolColumns = 13

func (a *app) showReport(r findings) error {
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "hocket\t%s\n", r.Version)
	fmt.Fprintf(t, "memory limit\t%s\n", memlimit.Current())
	switch {
	case r.Config.Problem != "":
		fmt.Fprintf(t, "configuration\t%s\t%s\n", clean(r.Config.Path), a.outColor.red(clean(r.Config.Problem)))
	case !r.Config.Read:
		fmt.Fprintf(t, "configuration\t%s\tnot found (optional)\n", clean(r.Config.Path))
	default:
		fmt.Fprintf(t, "configuration\t%s\n", clean(r.Config.Path))
	}
	switch {
	case r.Store.Problem != "":
		fmt.Fprintf(t, "store\t%s\t%s\n", r.Store.Path, a.outColor.red(r.Store.Problem))
	case r.Store.Path == service.Memory:
		fmt.Fprintf(t, "store\t%s\tkeeps nothing\n", r.Store.Path)
	case !r.Store.Exists:
		fmt.Fprintf(t, "store\t%s\tnot found; the first run creates it\n", r.Store.Path)
	default:
		fmt.Fprintf(t, "store\t%s\t%s\n", r.Store.Path, bytesText(r.Store.Bytes))
	}
	for _, f := range r.Store.Server {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", f.Name, clean(f.Value), a.outColor.red(clean(f.Warning)))
	}
	for _, p := range r.Store.Processes {
		fmt.Fprintf(t, "process\t%s\n", clean(processText(p, time.Now())))
	}
	a.showServer(t, r.Server)
	if f := r.Temporal; f != nil {
		fmt.Fprintf(t, "temporal\t%s\t%s\n", clean(a.temporalSettings().Address), a.outColor.red(clean(f.Problem)))
		for _, fact := range f.Facts {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", fact.Name, clean(fact.Value), a.outColor.red(clean(fact.Warning)))
		}
	}
	switch {
	case r.DefaultModel == "":
		fmt.Fprintln(t, "default model\tnone (set HOCKET_MODEL, or name one in the document or with --model)")
	case r.ModelProblem != "":
		problem, _, _ := strings.Cut(r.ModelProblem, "\n") // the hint follows
		fmt.Fprintf(t, "default model\t%s\t%s\n", clean(r.DefaultModel), a.outColor.red(clean(problem)))
	default:
		fmt.Fprintf(t, "default model\t%s\n", clean(r.DefaultModel))
	}
	for _, d := range r.Warnings {
		fmt.Fprintf(t, "\twarning: %s (%s)\n", clean(d.Message), d.Code)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	fmt.Fprintln(t, "\nPROVIDER\tUSABLE\tKEY\tADDRESS")
	for _, p := range r.Providers {
		key := "none needed"
		if p.KeyEnv != "" {
			key = p.KeyEnv + " is not set"
			if p.KeySet {
				key = p.KeyEnv + " is set"
			}
		}
		usable := "yes"
		switch {
		case !p.Usable:
			usable = "no"
		case p.KeyEnv == "" && !p.Configured:
			usable = "if running" // doctor connects to nothing
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", p.Provider, usable, key, clean(p.BaseURL))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	fmt.Fprintln(t, "\nTOOLSET\tHOW TO USE IT")
	for _, x := range r.Tools {
		name := x.Type
		for _, line := range a.wrapped(x.How, toolColumns) {
			fmt.Fprintf(t, "%s\t%s\n", name, line)
			name = ""
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	if len(r.Config.Servers)+len(r.Config.Toolsets) == 0 {
		return nil
	}
	fmt.Fprintln(t, "\nCONFIGURED\tTYPE\tDESCRIPTION")
	for _, x := range slices.Concat(r.Config.Servers, r.Config.Toolsets) {
		fmt.Fprintf(t, "%s\t%s\t%s\n", clean(x.Name), x.Type, clean(x.What))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}
