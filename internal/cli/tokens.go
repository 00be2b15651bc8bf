package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
)

func (a *app) tokensCmd() *cobra.Command {
	list := a.tokensListCmd()
	c := &cobra.Command{
		Use: "tokens", Short: "create, list and revoke the tokens of a server",
		Long: "Clients of `hocket serve` authenticate with a token. A token belongs to one namespace\nand has one " +
			"role: run starts, answers and cancels runs and reads definitions; edit also\nchanges " +
			"definitions and runs documents that are not stored; admin also manages tokens and\nwebhooks, and reads " +
			"the audit log. Only a token with --approve answers approvals:\ngive it to people, not to agents.",
		Args: checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(a.tokensCreateCmd(), list, a.tokensRevokeCmd())
	return c
}

// accessStore opens the default store, with its tokens and audit log. If look is set and there is
// no store, it returns an empty one.
func (a *app) accessStore(ctx context.Context, look bool) (*service.Service, store.Access, error) {
	open := a.open
	if look {
		if err := a.requireStore(ctx); err != nil {
			return nil, nil, err
		}
		open = a.openLocal
	}
	s, err := open(ctx)
	if err != nil {
		return nil, nil, err
	}
	return s, s.Home().Access, nil
}

func (a *app) tokensCreateCmd() *cobra.Command {
	var (
		g             access.Grant
		role, expires string
		asJSON        bool
	)
	c := &cobra.Command{
		Use: "create NAME", Short: "create a token and print it once",
		Long: "Creates a token and prints it on standard output, once: the store keeps only a hash\nof it. NAME " +
			"describes its purpose. A namespace is created with its first token; its\n" +
			"runs, workflows and agents are in a store of its own.",
		Example: "  hocket tokens create ci --role run --expires 90d\n  hocket tokens create ann --role edit " +
			"--approve --namespace newsroom",
		Args: checkArgs("NAME"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			g.Name, g.Namespace, g.Role = args[0], a.namespaceInUse(), access.Role(role)
			if !g.Role.IsKnown() {
				return mustBe("role", orList(roleNames()), role)
			}
			if expires != "" {
				d, err := parseAge("expires", expires)
				if err != nil {
					return err
				}
				g.Expires = time.Now().Add(d)
			}
			s, store, err := a.accessStore(c.Context(), false)
			if err != nil {
				return err
			}
			defer s.Close()
			if s.DB() == service.Memory {
				return usageErrorf("a store in memory cannot keep tokens")
			}
			var text string
			var made access.Token
			r := access.Record{Namespace: g.Namespace, Action: "tokens.create"}
			err = a.recorded(c.Context(), store, r, func(r *access.Record) (err error) {
				text, made, err = access.NewTokens(access.Config{Store: store}).Create(c.Context(), g)
				r.Target = made.ID
				return err
			})
			if err != nil {
				return accessUsageError(err)
			}
			if asJSON {
				return writeJSON(a.Out, httpapi.MadeToken{Token: httpapi.TokenOf(made), Text: text}, a.OutTerminal)
			}
			if !a.quiet {
				fmt.Fprintf(a.Err, "token %s: %s; it is shown only now\n", made.ID, described(made))
			}
			_, err = fmt.Fprintln(a.Out, text)
			return err
		},
	}
	c.Flags().StringVar(&role, "role", "", "what the token may do (`ROLE`): run, edit or admin")
	c.Flags().BoolVar(&g.Approve, "approve", false, "the token belongs to a person, who may answer approvals")
	c.Flags().StringVar(&expires, "expires", "",
		"`AGE` at which the token expires, such as 12h or 90d (default: never)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the token and its properties as JSON")
	must(c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roleNames(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

// described describes what a token may do.
func described(t access.Token) string {
	text := fmt.Sprintf("%s, role %s", quote(t.Name), t.Role)
	if t.Approve {
		text += ", may approve"
	}
	text += ", namespace " + t.Namespace
	if !t.Expires.IsZero() {
		text += ", until " + t.Expires.Local().Format("2006-01-02 15:04")
	}
	return text
}

// accessUsageError converts an error of package access to one that tells a person what to fix.
func accessUsageError(err error) error {
	var (
		invalid *access.InvalidError
		limit   *access.LimitError
	)
	if errors.As(err, &invalid) || errors.As(err, &limit) {
		return usageErrorf("%v", err)
	}
	return err
}

func (a *app) tokensListCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list tokens, without their values", Args: checkArgs(),
		Long: "Lists the tokens of all namespaces, or of the one that --namespace names.",
		RunE: func(c *cobra.Command, _ []string) error {
			s, store, err := a.accessStore(c.Context(), true)
			if err != nil {
				return err
			}
			defer s.Close()
			tokens, err := a.allTokens(c.Context(), store)
			if err != nil {
				return err
			}
			if asJSON {
				items := make([]httpapi.Token, len(tokens))
				for i, k := range tokens {
					items[i] = httpapi.TokenOf(k)
				}
				return writeJSON(a.Out, items, a.OutTerminal)
			}
			return a.tokenTable(tokens)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

// allTokens returns the tokens of all namespaces, or of --namespace if it is set.
func (a *app) allTokens(ctx context.Context, store access.Store) ([]access.Token, error) {
	names, err := store.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	if a.namespace != "" {
		if !slices.Contains(names, a.namespace) {
			return nil, a.noNamespace(names)
		}
		names = []string{a.namespace}
	}
	tokens := []access.Token{}
	for _, n := range names {
		list, err := store.List(ctx, n)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, list...)
	}
	return tokens, nil
}

func (a *app) tokenTable(tokens []access.Token) error {
	now := time.Now()
	return printTable(a, tokens, "no tokens", "TOKEN\tNAMESPACE\tROLE\tCREATED\tUSED\tEXPIRES\tNAME",
		func(k access.Token) []string {
			role, used, expires := string(k.Role), "never", "never"
			if k.Approve {
				role += ", approves"
			}
			if !k.Used.IsZero() {
				used = ago(k.Used, now)
			}
			switch {
			case k.IsExpired(now):
				expires = "has expired"
			case !k.Expires.IsZero():
				expires = k.Expires.Local().Format("2006-01-02 15:04")
			}
			return []string{k.ID, k.Namespace, role, ago(k.Created, now), used, expires, clean(k.Name)}
		})
}

func (a *app) tokensRevokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke TOKEN", Short: "revoke a token by its id",
		Args: checkArgs("TOKEN"), ValidArgsFunction: once(a.completeTokens),
		RunE: func(c *cobra.Command, args []string) error {
			s, store, err := a.accessStore(c.Context(), true)
			if err != nil {
				return err
			}
			defer s.Close()
			tokens, err := a.allTokens(c.Context(), store)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(tokens, func(k access.Token) bool { return k.ID == args[0] })
			if i < 0 {
				return usageErrorf("token %s not found; see hocket tokens list", quote(args[0]))
			}
			k := tokens[i]
			r := access.Record{Namespace: k.Namespace, Action: "tokens.revoke", Target: k.ID}
			err = a.recorded(c.Context(), store, r, func(*access.Record) (err error) {
				k, err = store.Revoke(c.Context(), k.Namespace, k.ID)
				return err
			})
			if errors.Is(err, access.ErrNone) {
				return usageErrorf("token %s has already been revoked", quote(args[0]))
			}
			if err != nil {
				return err
			}
			if !a.quiet {
				fmt.Fprintf(a.Err, "revoked token %s: %s\n", k.ID, described(k))
			}
			return nil
		},
	}
}

// completeTokens completes the id of a token.
func (a *app) completeTokens(c *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	ctx := cmp.Or(c.Context(), context.Background())
	s, store, err := a.accessStore(ctx, true)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	tokens, err := a.allTokens(ctx, store)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, k := range tokens {
		if strings.HasPrefix(k.ID, prefix) && len(words) < maxOffered {
			words = append(words, cobra.CompletionWithDesc(k.ID, clean(k.Name)+", "+string(k.Role)+" in "+k.Namespace))
		}
	}
	return words, orderedWords
}
