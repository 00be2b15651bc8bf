package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

func (a *app) storeCopyCmd() *cobra.Command {
	var (
		cfg    storecopy.Config
		asJSON bool
	)
	c := &cobra.Command{
		Use: "copy FROM TO", Short: "copy all that a store holds into another one, such as a file into PostgreSQL",
		Long: "Copies runs, workflows, agents, tokens, the audit log, webhooks, schedules, checkpoints\nand memories " +
			"of all namespaces from one store into another one, and verifies the copy.\nFROM and TO are files of " +
			"SQLite or URLs of PostgreSQL. FROM stays as it is.\n\n" +
			"No process may use FROM or TO. With --live FROM may be used: only runs that have ended\nor wait for a " +
			"person are copied, and the others are counted.\n\n" +
			"A copy that was stopped is completed by the same command; until then TO cannot be\nopened. What is in " +
			"TO already must be equal: a difference stops the copy before TO is\nchanged. Secrets are sealed by the " +
			"key file of FROM, which TO needs too: a file that\n--key-file names, or that belongs beside TO, becomes " +
			"a copy of it if it does not exist.",
		Example: "  hocket store copy hocket.db postgres://hocket@db.example.com/hocket --dry-run\n  hocket store " +
			"copy hocket.db postgres://hocket@db.example.com/hocket --key-file /etc/hocket/hocket.key\n" +
			"  hocket store copy postgres://hocket@db.example.com/hocket backup.db --live",
		Args: checkArgs("FROM", "TO"),
		RunE: func(c *cobra.Command, args []string) error {
			res, err := a.copyStore(c.Context(), args[0], args[1], cfg)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, res, a.OutTerminal)
			}
			if !a.quiet {
				writeCopied(a.Out, res)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&cfg.DryRun, "dry-run", false, "print what would be copied and write nothing")
	c.Flags().BoolVar(&cfg.Live, "live", false, "copy from a store that is in use, without the runs that go on")
	c.Flags().BoolVar(&asJSON, "json", false, "print the counts as JSON")
	return c
}

// isStoreCopy reports whether the verb is hocket store copy.
func isStoreCopy(c *cobra.Command) bool { return c.Name() == "copy" && c.Parent().Name() == "store" }

// copyStore copies between the stores that two arguments name.
func (a *app) copyStore(ctx context.Context, from, to string, cfg storecopy.Config) (res storecopy.Result, err error) {
	if a.db != "" {
		return res, usageErrorf("hocket store copy takes both stores as arguments; leave out --db")
	}
	var at [2]store.Locator
	for i, text := range []string{from, to} {
		c := a.config()
		c.DB, c.At = text, store.Locator{}
		if text == "" {
			return res, usageErrorf("the name of a store is empty")
		}
		if at[i], err = c.Locator(); err != nil {
			return res, err
		}
	}
	if at[0].URL() == nil && at[1].URL() == nil && (a.keyFile != "" || a.allowUnsafe) {
		return res,
			usageErrorf("--key-file and --allow-unsafe-store are for stores on PostgreSQL; both stores are files")
	}
	cfg.Store = store.Config{Kind: journal.KindRun, LockTimeout: a.lockTimeout, Locked: a.locked, Logger: a.logger()}
	done := func() {}
	if a.ErrTerminal && !a.quiet {
		cfg.Progress, done = a.copyProgress()
	}
	res, err = storecopy.Copy(ctx, at[0], at[1], cfg)
	done()
	if res.Unfinished {
		a.say("hocket: " + at[1].String() + " has a part of the copy and cannot be opened until hocket store copy " +
			"has completed it")
	}
	code, _ := errcode.Of(err)
	if code != "" || errors.Is(err, journal.ErrNotStore) || errors.Is(err, journal.ErrUnfinished) ||
		errors.Is(err, journal.ErrOldStore) {
		err = &service.StoreError{Path: from, Err: err}
	}
	return res, err
}

// copyProgress draws one line on the terminal while stores are copied.
func (a *app) copyProgress() (show func(storecopy.Progress), done func()) {
	var last time.Time
	isDrawn := false
	return func(p storecopy.Progress) {
			if now := time.Now(); now.Sub(last) >= drawEvery {
				last, isDrawn = now, true
				percent := int64(100)
				if p.Total > 0 {
					percent = p.Done * 100 / p.Total
				}
				line := fmt.Sprintf("%s: %d %% of %s, %s", p.Phase, percent, bytesText(p.Total),
					strings.ReplaceAll(p.Table, "_", " "))
				if p.Namespace != access.DefaultNamespace {
					line += " of namespace " + p.Namespace
				}
				fmt.Fprintf(a.Err, "\r\x1b[K%s", short(clean(line), 79))
			}
		}, func() {
			if isDrawn {
				fmt.Fprint(a.Err, "\r\x1b[K")
			}
		}
}

// writeCopied prints the result of a copy.
func writeCopied(w io.Writer, res storecopy.Result) {
	verb := "copied"
	if res.DryRun {
		verb = "to copy"
	}
	rows := []struct {
		name string
		n    storecopy.Amount
	}{{"runs", res.Runs}, {"records", res.Records}, {"blobs", res.Blobs}, {"other rows", res.Rows}}
	for _, r := range rows {
		if r.name == "records" && res.DryRun {
			continue // a dry run does not read them
		}
		line := fmt.Sprintf("%-12s %d %s", r.name, r.n.Copied, verb)
		if r.n.Present > 0 {
			line += fmt.Sprintf(", %d there already", r.n.Present)
		}
		fmt.Fprintln(w, line)
	}
	size := bytesText(res.Bytes)
	if res.DryRun { // records are estimated by the number of events
		size = "about " + size
	}
	fmt.Fprintf(w, "%-12s %s in %s\n", "size", size, pluralize(res.Namespaces, "namespace"))
	if res.Left > 0 {
		fmt.Fprintf(w, "%-12s %s that had neither ended nor paused\n", "left out", pluralize(res.Left, "run"))
	}
	if res.KeyFile != "" {
		fmt.Fprintf(w, "%-12s %s created as a copy of the other one\n", "key file", res.KeyFile)
	}
	if !res.DryRun {
		v := res.Verified
		fmt.Fprintf(w, "%-12s %s with %s, %s, %s\n", "verified", pluralize(v.Runs, "run"),
			pluralize(v.Records, "record"),
			pluralize(v.Blobs, "blob"), pluralize(v.Rows, "other row"))
	}
}
