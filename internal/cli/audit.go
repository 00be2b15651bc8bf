package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/client"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/op"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) auditCmd() *cobra.Command {
	var (
		since  string
		limit  int
		asJSON bool
	)
	c := &cobra.Command{
		Use: "audit", Short: "show who changed what through a server, newest first",
		Long: fmt.Sprintf("Shows the audit log of a namespace: requests to `hocket serve` that changed\nsomething "+
			"or tried to, and tokens created or revoked and answers given on this\nmachine. The newest %d entries of "+
			"each namespace are kept.", access.MaxRecords),
		Example: "  hocket audit --since 24h\n  hocket audit --namespace newsroom --json",
		Args:    checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			q := access.Query{Namespace: a.namespaceInUse()}
			if limit < 1 {
				return mustBe("limit", "1 or more", strconv.Itoa(limit))
			}
			limit = min(limit, maxListed)
			if since != "" {
				at, err := parseTime("since", since, time.Now())
				if err != nil {
					return err
				}
				q.Since = at
			}
			s, store, err := a.accessStore(c.Context(), true)
			if err != nil {
				return err
			}
			defer s.Close()
			names, err := store.Namespaces(c.Context())
			if err != nil {
				return err
			}
			if !slices.Contains(names, q.Namespace) {
				return a.noNamespace(names)
			}
			var records []access.Record
			for len(records) < limit {
				q.Limit = min(limit-len(records), access.MaxPage)
				page, err := store.Records(c.Context(), q)
				if err != nil {
					return err
				}
				records = append(records, page.Items...)
				if q.Cursor = page.Next; q.Cursor == "" {
					break
				}
			}
			if asJSON {
				items := make([]httpapi.AuditRecord, len(records))
				for i, r := range records {
					items[i] = httpapi.AuditRecord(r)
				}
				return writeJSON(a.Out, items, a.OutTerminal)
			}
			if err := a.auditTable(records); err != nil {
				return err
			}
			if q.Cursor != "" && !a.quiet {
				fmt.Fprintf(a.Err, "showing the newest %d; use --limit for more\n", limit)
			}
			return nil
		},
	}
	c.Flags().StringVar(&since, "since", "",
		"show only entries not older than `AGE`, such as 12h or 7d, or since a time such as 2026-11-22T08:00:00Z")
	c.Flags().IntVar(&limit, "limit", 50, "at most `N`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

// localActor is the actor of answers submitted on this command line. With --server, the server
// records the token instead.
var localActor = event.LocalBy(event.ChannelCLI)

// answerRecord returns the audit record of an answer to a wait.
func answerRecord(run, wait string) access.Record {
	return access.Record{Action: transport.ActAnswer, Target: run + " " + wait}
}

// audited calls do, which changes the store s, and records the change in the audit log, as recorded
// does. A server keeps its own log.
func (a *app) audited(ctx context.Context, s stateReader, r access.Record, do func(r *access.Record) error) error {
	store, isHere := s.(*service.Service)
	if !isHere {
		return do(&r)
	}
	log, closeLog, err := a.auditLog(ctx, store)
	if err != nil {
		return err
	}
	r.Namespace = a.namespaceInUse()
	return errors.Join(a.recorded(ctx, log, r, do), closeLog())
}

// perform carries out an operation of the table: on a server, which records it, or on the store of
// this machine, where it is recorded here.
func perform[In, Out any](ctx context.Context, a *app, s stateReader, o *op.Op[In, Out], in *In) (out Out, err error) {
	if r, ok := s.(*client.Remote); ok {
		return client.Call(ctx, r, o, in)
	}
	err = a.audited(ctx, s, access.Record{Action: o.Action, Target: o.Target(in)}, func(r *access.Record) (err error) {
		here, _ := s.(*service.Service)
		out, err = o.Do(ctx, op.Local(here, func(_, target string) { r.Target = target }), in)
		return err
	})
	return out, err
}

// recorded calls do, which makes a change, and records it in the audit log as a local one: first
// the intent, without which do is not called, then the outcome. If the outcome cannot be written,
// the intent stays, with the outcome unknown. do may complete the target of the record.
func (a *app) recorded(ctx context.Context, log access.Log, r access.Record, do func(r *access.Record) error) error {
	r.At, r.Channel, r.Actor = time.Now(), access.ChannelCLI, access.ActorLocal
	var err error
	if r.ID, err = log.Intend(ctx, r); err != nil {
		return fmt.Errorf("nothing was changed, because the audit log cannot be written: %w", err)
	}
	err = do(&r)
	r.Outcome = access.OutcomeOK
	if err != nil {
		r.Outcome = string(service.CodeOf(err))
	}
	if aerr := log.Record(context.WithoutCancel(ctx), r); aerr != nil {
		fmt.Fprintf(a.Err, "warning: the outcome is missing from the audit log: %s\n", printable(aerr.Error()))
	}
	return err
}

// auditLog returns the audit log, which is in the store of the default namespace. s is the open
// store. The caller must call done.
func (a *app) auditLog(ctx context.Context, s *service.Service) (_ access.Log, done func() error, _ error) {
	if a.namespaceInUse() == access.DefaultNamespace {
		return s.Home().Access, func() error { return nil }, nil
	}
	cfg := a.config()
	cfg.At = a.defaultAt
	d, err := service.Open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	return d.Home().Access, d.Close, nil
}

// parseTime parses a time, or a duration before now.
func parseTime(flag, s string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	d, err := parseAge(flag, s)
	if err != nil {
		return time.Time{}, mustBe(flag, "an age such as 90m, 12h or 30d, or a time such as 2026-11-22T08:00:00Z", s)
	}
	return now.Add(-d), nil
}

func (a *app) auditTable(records []access.Record) error {
	return printTable(a, records, "no records", "TIME\tWHO\tBY\tACTION\tTARGET\tOUTCOME\tFROM",
		func(r access.Record) []string {
			return []string{r.At.Local().Format("2006-01-02 15:04:05"), clean(r.Actor), clean(r.Channel),
				clean(r.Action),
				clean(r.Target), r.Outcome, r.Remote}
		})
}
