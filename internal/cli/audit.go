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
	"github.com/hocket-run/hocket/internal/engine"
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
var localActor = engine.LocalBy(engine.ChannelCLI)

// auditAnswer records in the audit log an answer that was submitted here; a server keeps its own
// log. If the log cannot be written, that is only a warning, since the answer stands.
func (a *app) auditAnswer(ctx context.Context, s stateReader, run, wait string) {
	store, isHere := s.(*service.Service)
	if !isHere {
		return
	}
	r := access.Record{At: time.Now(), Channel: access.ChannelCLI, Action: transport.ActAnswer,
		Target: run + " " + wait}
	if err := a.writeAudit(context.WithoutCancel(ctx), store, r); err != nil {
		fmt.Fprintf(a.Err, "warning: the answer was accepted, but it is missing from the audit log: %s\n",
			printable(err.Error()))
	}
}

// writeAudit writes a record of a local action to the audit log, which is in the store of the
// default namespace. s is the open store.
func (a *app) writeAudit(ctx context.Context, s *service.Service, r access.Record) error {
	r.Namespace, r.Actor, r.Outcome = a.namespaceInUse(), access.ActorLocal, access.OutcomeOK
	if r.Namespace == access.DefaultNamespace {
		return s.Home().Access.Record(ctx, r)
	}
	cfg := a.config()
	cfg.At = a.defaultAt
	d, err := service.Open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(d.Home().Access.Record(ctx, r), d.Close())
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
