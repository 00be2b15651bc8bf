package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/service"
)

// overNamespaces are the verbs that themselves act on namespaces: --namespace does not select their
// store.
var overNamespaces = []string{"tokens", "audit", "open"}

func (a *app) addNamespaceFlag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&a.namespace, "namespace", "",
		"`NAME` of the namespace whose store is used (default: the store of --db)")
	must(root.RegisterFlagCompletionFunc("namespace", a.completeNamespaces))
}

// namespaceInUse returns the namespace in use.
func (a *app) namespaceInUse() string { return cmp.Or(a.namespace, access.DefaultNamespace) }

// chooseStore selects the store of --namespace, unless the verb itself acts on namespaces or needs
// no store.
func (a *app) chooseStore(c *cobra.Command) error {
	if a.namespace == "" {
		return nil
	}
	if err := access.CheckNamespace(a.namespace); err != nil {
		return usageErrorf("%v", err)
	}
	verb := c
	for verb.HasParent() && verb.Parent().HasParent() {
		verb = verb.Parent()
	}
	switch {
	case verb.Name() == "serve", verb.Name() == "worker":
		return usageErrorf("hocket %s serves all namespaces; leave out --namespace", verb.Name())
	case isStoreCopy(c):
		return usageErrorf("hocket store copy copies all namespaces; leave out --namespace")
	case slices.Contains(overNamespaces, verb.Name()), withoutConfig(c) && verb.Name() != "doctor":
		return nil
	}
	return a.selectNamespace(c.Context())
}

// selectNamespace replaces the default store with the store of --namespace. An unknown namespace is
// an error and creates no file.
func (a *app) selectNamespace(ctx context.Context) error {
	if a.namespaceInUse() == access.DefaultNamespace || a.entered {
		return nil
	}
	if err := a.requireStore(ctx); err != nil {
		return err
	}
	s, err := a.openLocal(ctx)
	if err != nil {
		return err
	}
	names, err := s.Home().Access.Namespaces(ctx)
	at := s.Home().Locator()
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if !slices.Contains(names, a.namespace) {
		return a.noNamespace(names)
	}
	of, err := at.Namespace(a.namespace)
	if err != nil {
		return err
	}
	a.defaultAt, a.at = at, of
	a.entered = true
	return nil
}

// noNamespace returns the error for a namespace that does not exist, which says how to create one.
func (a *app) noNamespace(names []string) error {
	hint := diag.DidYouMean(a.namespace, names)
	if hint == "" {
		hint = "`hocket tokens create` creates it with its first token"
	}
	return usageErrorf("namespace %s not found; %s", quote(a.namespace), hint)
}

// openLocal opens the store of --db for reading, whatever the namespace.
func (a *app) openLocal(ctx context.Context) (*service.Service, error) {
	cfg := a.config()
	cfg.Telemetry = nil // no run is driven
	return service.Look(ctx, cfg)
}

// completeNamespaces completes the name of a namespace.
func (a *app) completeNamespaces(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, err := a.namespaces(cmp.Or(c.Context(), context.Background()))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, prefix) }),
		cobra.ShellCompDirectiveNoFileComp
}

// namespaces returns all namespaces in the store of --db.
func (a *app) namespaces(ctx context.Context) ([]string, error) {
	s, err := a.openLocal(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Home().Access.Namespaces(ctx)
}
