package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/client"
	"github.com/hocket-run/hocket/internal/service"
)

// onlyHere rejects flags for which a server has its own settings.
func onlyHere(c *cobra.Command, names ...string) error {
	for _, name := range names {
		if c.Flags().Changed(name) {
			return usageErrorf("--%s and --server cannot be given together: the server uses its own setting", name)
		}
	}
	return nil
}

// runRemote runs a workflow on a server: the server receives the document, or the id of a stored
// workflow, and drives the run, which is followed here. If following ends, the run continues.
func (a *app) runRemote(c *cobra.Command, r *client.Remote, fl *runFlags, args []string) error {
	ctx := c.Context()
	defer r.Close()
	if err := onlyHere(c, "agents", "model", "tools", "replies", "prices", "record", "trust", "approve-all",
		"run-id"); err != nil {
		return err
	}
	args, stored, taken, err := fl.source(c, args)
	if err != nil {
		return err
	}
	s := client.Start{Workflow: fl.workflow, Draft: fl.draft, Format: fl.load.Format,
		AllowUnknown: fl.load.AllowUnknown, Branch: fl.branch}
	if s.Limits, err = fl.limits(c); err != nil {
		return err
	}
	if s.Labels, err = labelFlag(fl.labels); err != nil {
		return err
	}
	if !stored {
		text, err := service.ReadFile(args[0], a.In)
		if err != nil {
			return err
		}
		s.Document = string(text)
		if args[0] != "-" {
			s.Name = strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
		}
	}
	if s.Input, err = a.input(args, taken); err != nil {
		return err
	}
	if s.Inputs, err = fl.inputs.named(); err != nil {
		return err
	}
	o, err := r.Start(ctx, s)
	if err != nil {
		return inFile(err, args[0])
	}
	fo := a.followerOf(fl)
	fo.service, fo.run = r, o.ID
	fo.resumeRun = func(ctx context.Context) error { return r.TakeUp(ctx, o.ID) }
	defer fo.close()
	if !a.quiet {
		title := ""
		if o.Workflow.Name != nil {
			title = "  " + clean(*o.Workflow.Name)
		}
		fo.progress.say(a.color.dim("run "+o.ID+title+" at "+r.DB()) + "\n")
	}
	rec, err := r.Read(ctx, o.ID)
	switch {
	case ctx.Err() != nil:
		return &exit{ExitInterrupted, "detached; run " + o.ID + " continues at " + r.DB()}
	case err != nil:
		return err
	}
	if err := fo.watch(ctx, o.ID, rec.Workflow, 0, fl.events); err != nil {
		return err
	}
	return fo.follow(ctx)
}

// documentName is the name that a server uses for the document of a request.
const documentName = "document"

// inFile replaces the document name in the server's messages with the name of the file.
func inFile(err error, path string) error {
	if invalid, ok := errors.AsType[*service.InvalidError](err); ok && path != "" {
		for i := range invalid.Diagnostics {
			if d := &invalid.Diagnostics[i]; d.Span.File == documentName || strings.TrimSpace(d.Span.File) == "" {
				d.Span.File = path
			}
		}
	}
	return err
}
