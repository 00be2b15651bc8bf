package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

func (a *app) storeCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "store", Short: "bring the store up to date, and copy stores", Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.storeMigrateCmd(), a.storeCopyCmd())
	return c
}

// migrated is the result of migrating the tables of a namespace.
type migrated struct {
	Namespace string `json:"namespace"`
	// Before is the version that was found; 0 means that there were no tables. After is the version
	// of this program.
	Before int `json:"before"`
	After  int `json:"after"`
}

func (a *app) storeMigrateCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "migrate", Short: "bring the tables of the store up to date, or create them",
		Long: "Brings the tables of the store and of all its namespaces to the version of this\nprogram, and creates " +
			"the store if there is none. Every command that opens a store does\nit too; a job that does it before " +
			"servers start " +
			"shows what is wrong while the old ones\nstill run. With --namespace, only that one. If nothing has to " +
			"be done, nothing is\nwritten. A store that a newer release has changed is refused.",
		Example: "  hocket store migrate --db postgres://hocket@db.example.com/hocket",
		Args:    checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := a.migrate(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, all, a.OutTerminal)
			}
			for _, m := range all {
				fmt.Fprintf(a.Out, "namespace %s: %s\n", m.Namespace, m)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the versions as JSON")
	return c
}

// String describes the migration.
func (m migrated) String() string {
	switch m.Before {
	case 0:
		return fmt.Sprintf("tables created, version %d", m.After)
	case m.After:
		return fmt.Sprintf("up to date, version %d", m.After)
	}
	return fmt.Sprintf("migrated from version %d to version %d", m.Before, m.After)
}

// migrate opens the store of each namespace once, which migrates it.
func (a *app) migrate(ctx context.Context) (all []migrated, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.DB() == service.Memory {
		return nil, usageErrorf("a store in memory has no tables")
	}
	home := s.Home()
	all = []migrated{versions(a.namespaceInUse(), home)}
	if a.entered {
		return all, nil
	}
	names, err := home.Access.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if name == a.namespaceInUse() {
			continue
		}
		at, err := home.Locator().Namespace(name)
		if err != nil {
			return nil, err
		}
		of, err := at.Open(ctx, store.Config{Kind: journal.KindRun, LockTimeout: a.lockTimeout, Locked: a.locked})
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, &service.StoreError{Path: at.String(), Err: err})
		}
		all = append(all, versions(name, of))
		if err := of.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func versions(namespace string, home *store.Home) migrated {
	v := home.Version()
	return migrated{namespace, v.Found, v.Now}
}
