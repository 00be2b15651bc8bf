package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/secret"
	"github.com/hocket-run/hocket/internal/service"
)

// hooks returns the hooks of this invocation's store, and its service, which the caller must close.
func (a *app) hooks(ctx context.Context) (*hooks.Hooks, *service.Service, error) {
	if err := a.requireStore(ctx); err != nil { // without a store there are neither workflows to start nor webhooks
		return nil, nil, err
	}
	s, err := a.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	cfg := hooks.Config{
		// there are no external callers
		Service: func(context.Context, string) (*service.Service, error) { return nil, journal.ErrNotFound },
		Secrets: secret.Resolver{Env: a.Env, Keeper: a.keeper},
	}
	if a.operator != nil {
		cfg.PublicURL = a.operator.Server.URL
	}
	h, err := hooks.New(cfg)
	if err != nil {
		_ = s.Close() // the configuration error is reported
		return nil, nil, usageErrorf("%v", err)
	}
	return h, s, nil
}

func (a *app) webhooksCmd() *cobra.Command {
	list := a.webhooksListCmd()
	c := &cobra.Command{
		Use: "webhooks", Short: "manage webhooks, by which other programs start workflows",
		Long: "Manages incoming webhooks: addresses below /hooks/ of hocket serve, at which other\nprograms start a " +
			"published workflow. Without a subcommand, it lists\n" +
			"them. docs/webhooks.md describes how deliveries are signed.",
		Example: "  hocket webhooks create triage\n  hocket webhooks create triage --mode github --secret " +
			"'${env.GITHUB_WEBHOOK_SECRET}'\n  hocket webhooks rotate wh_0123456789abcdef",
		Args: checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(a.webhooksCreateCmd(), list, a.webhooksRotateCmd(), a.webhooksDeleteCmd())
	return c
}

// webhookLine is a webhook in JSON. Secret is present only if it was just created.
type webhookLine struct {
	ID        string  `json:"id"`
	URL       string  `json:"url"`
	Workflow  string  `json:"workflow"`
	Branch    *string `json:"branch"`
	Signal    *string `json:"signal"`
	RunAt     *string `json:"runAt"`
	Name      *string `json:"name"`
	Mode      string  `json:"mode"`
	Header    *string `json:"header"`
	SecretRef *string `json:"secretRef"`
	Created   string  `json:"createdAt"`
	Disabled  *string `json:"disabledAt"`
	// Failed is since when deliveries start no runs, for the reason Error; null unless the last one
	// did not.
	Failed *string `json:"failedSince"`
	Error  *string `json:"error"`
	Secret string  `json:"secret,omitempty"`
}

func lineOfWebhook(h *hooks.Hooks, w hooks.Webhook) webhookLine {
	l := webhookLine{
		ID: w.ID, URL: h.URL(access.DefaultNamespace, w), Workflow: w.Workflow, Branch: textOf(w.Branch),
		Signal: textOf(w.Signal), RunAt: textOf(w.RunAt), Name: textOf(w.Name), Mode: string(w.Mode),
		Header: textOf(w.Header), Created: timeText(w.Created),
	}
	if len(w.Secrets) > 0 {
		l.SecretRef = textOf(w.Secrets[0].Ref)
	}
	if !w.Disabled.IsZero() {
		l.Disabled = textOf(timeText(w.Disabled))
	}
	if !w.Failed.IsZero() {
		l.Failed, l.Error = textOf(timeText(w.Failed)), textOf(w.Error)
	}
	return l
}

// madeWebhook shows a webhook with a new secret.
func (a *app) madeWebhook(h *hooks.Hooks, c hooks.Created[hooks.Webhook], asJSON bool) error {
	l := lineOfWebhook(h, c.Of)
	l.Secret = c.Secret
	if asJSON {
		return writeJSON(a.Out, l, a.OutTerminal)
	}
	fmt.Fprintf(a.Out, "id      %s\nurl     %s\n", l.ID, clean(l.URL))
	if c.Secret != "" {
		fmt.Fprintf(a.Out, "secret  %s\n", c.Secret)
		if !a.quiet {
			fmt.Fprintln(a.Err, "the secret is shown only once")
		}
	}
	return nil
}

func (a *app) webhooksCreateCmd() *cobra.Command {
	var (
		q      hooks.CreateRequest
		mode   string
		asJSON bool
	)
	c := &cobra.Command{
		Use: "create WORKFLOW", Short: "create a webhook for a published workflow",
		Long: "Creates an address at which another program starts the workflow, and a secret for\nit, which is shown " +
			"only once. The body of a request becomes the input of the run.\nWith --signal, it is the value of a " +
			"signal to the run that it names.",
		Args: checkArgs("WORKFLOW"), ValidArgsFunction: once(a.completeWorkflow),
		RunE: func(c *cobra.Command, args []string) error {
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			q.Workflow, q.Mode = args[0], hooks.Mode(mode)
			made, err := h.Create(c.Context(), access.DefaultNamespace, s, q)
			if err != nil {
				return err
			}
			return a.madeWebhook(h, made, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&q.Branch, "branch", "", "`ID` of the branch to start")
	f.StringVar(&q.Signal, "signal", "", "send the signal `NAME` to a run of the workflow instead of starting one")
	f.StringVar(&q.RunAt, "run-at", "", "with --signal, the JSON `POINTER` to the id of the run in the body (default: "+
		hooks.DefaultRunAt+")")
	f.StringVar(&q.Name, "name", "", "display name `TEXT`")
	f.StringVar(&mode, "mode", string(hooks.ModeStandard), "signature `MODE` of deliveries: standard, github or token")
	f.StringVar(&q.Header, "header", "", "with --mode token, the header `NAME` that holds it (default: "+
		hooks.DefaultTokenHeader+")")
	f.StringVar(&q.SecretRef, "secret", "",
		"`REFERENCE` to an existing secret, ${env.NAME} or file:PATH, instead of a generated one")
	f.BoolVar(&asJSON, "json", false, "print it as JSON")
	must(c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"standard", "github", "token"},
		cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func (a *app) webhooksListCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list webhooks, without their secrets", Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := h.Webhooks(c.Context(), access.DefaultNamespace, s)
			if err != nil {
				return err
			}
			lines := make([]webhookLine, len(all))
			for i, w := range all {
				lines[i] = lineOfWebhook(h, w)
			}
			if asJSON {
				return writeJSON(a.Out, lines, a.OutTerminal)
			}
			return printTable(a, all, "no webhooks", "WEBHOOK\tWORKFLOW\tBRANCH\tMODE\tNAME\tURL\tSTATE",
				func(w hooks.Webhook) []string {
					state := "ready"
					switch {
					case !w.Disabled.IsZero():
						state = "disabled: " + w.Reason
					case !w.Failed.IsZero():
						state = "starts no runs since " + w.Failed.In(time.Local).Format("Mon 2006-01-02 15:04:05") +
							": " + clean(oneLine(w.Error))
					}
					return []string{w.ID, clean(w.Workflow), dash(clean(w.Branch)), string(w.Mode), dash(clean(w.Name)),
						clean(lineOfWebhook(h, w).URL), state}
				})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

func (a *app) webhooksRotateCmd() *cobra.Command {
	var (
		q       hooks.RotateRequest
		overlap string
		asJSON  bool
	)
	c := &cobra.Command{
		Use: "rotate WEBHOOK", Short: "give a webhook a new secret",
		Long: "Gives a webhook a new secret, which is shown only once. The old secret stays valid\nfor a day, or for " +
			"--overlap.",
		Args: checkArgs("WEBHOOK"), ValidArgsFunction: once(a.completeWebhooks),
		RunE: func(c *cobra.Command, args []string) error {
			if c.Flags().Changed("overlap") {
				d, err := parseAge("overlap", overlap)
				if err != nil {
					return err
				}
				q.Overlap = &d
			}
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			made, err := h.Rotate(c.Context(), access.DefaultNamespace, s, args[0], q)
			if err != nil {
				return err
			}
			return a.madeWebhook(h, made, asJSON)
		},
	}
	f := c.Flags()
	f.StringVar(&overlap, "overlap", "",
		"`DURATION` for which the old secret stays valid, such as 1h; 0s: not at all (default: 24h)")
	f.StringVar(&q.SecretRef, "secret", "", "`REFERENCE` to an existing secret, instead of a generated one")
	f.BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

func (a *app) webhooksDeleteCmd() *cobra.Command {
	return &cobra.Command{
		Use: "delete WEBHOOK", Short: "delete a webhook", Args: checkArgs("WEBHOOK"),
		ValidArgsFunction: once(a.completeWebhooks),
		RunE: func(c *cobra.Command, args []string) error {
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			err = h.Delete(c.Context(), access.DefaultNamespace, s, args[0])
			if err == nil && !a.quiet {
				fmt.Fprintf(a.Out, "%s: deleted\n", clean(args[0]))
			}
			return err
		},
	}
}

// notificationStates are the values of --state; "" means any.
var notificationStates = []string{"", string(hooks.StatePending), string(hooks.StateDelivered), string(hooks.StateDead),
	string(hooks.StateDropped)}

func (a *app) notificationsCmd() *cobra.Command {
	var (
		q      hooks.NotificationQuery
		state  string
		asJSON bool
	)
	c := &cobra.Command{
		Use: "notifications", Short: "list notifications sent to endpoints, and send them again",
		Long: "Lists the newest notifications that hocket serve sends to the endpoints of\nhocket.yaml and of the " +
			"API. `dead` means that all attempts have failed.",
		Example: "  hocket notifications --state dead\n  hocket notifications retry msg_…",
		Args:    checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(notificationStates, state) {
				return mustBe("state", "pending, delivered, dead or dropped", state)
			}
			q.State, q.Limit = hooks.State(state), 200
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			list, _, err := h.Notifications(c.Context(), access.DefaultNamespace, s, q)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, notificationLines(list), a.OutTerminal)
			}
			return printTable(a, list, "no notifications",
				"NOTIFICATION\tTYPE\tRUN\tENDPOINT\tSTATE\tTRIES\tMADE\tERROR", func(n hooks.Notification) []string {
					return []string{n.ID, string(n.Type), clean(n.Run), clean(n.Endpoint), string(n.State),
						strconv.Itoa(n.Tries), n.Made.Format(time.RFC3339), dash(clean(n.Error))}
				})
		},
	}
	c.Flags().StringVar(&state, "state", "", "only notifications in this `STATE`: pending, delivered, dead or dropped")
	c.Flags().StringVar(&q.Run, "run", "", "only notifications of this `RUN`")
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	must(c.RegisterFlagCompletionFunc("run", a.completeRuns))
	must(c.RegisterFlagCompletionFunc("state",
		cobra.FixedCompletions(notificationStates[1:], cobra.ShellCompDirectiveNoFileComp)))
	c.AddCommand(&cobra.Command{
		Use: "retry NOTIFICATION", Short: "send a failed notification again", Args: checkArgs("NOTIFICATION"),
		ValidArgsFunction: once(a.completeNotifications),
		Long:              "Queues a notification again; a running hocket serve sends it.",
		RunE: func(c *cobra.Command, args []string) error {
			h, s, err := a.hooks(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			n, err := h.Retry(c.Context(), access.DefaultNamespace, s, strings.TrimSpace(args[0]))
			if err == nil && !a.quiet {
				fmt.Fprintf(a.Out, "%s: pending\n", n.ID)
			}
			return err
		},
	})
	return c
}

// notificationLine is a notification in JSON.
type notificationLine struct {
	ID       string  `json:"id"`
	Endpoint string  `json:"endpoint"`
	Type     string  `json:"type"`
	Run      string  `json:"run"`
	State    string  `json:"state"`
	Tries    int     `json:"tries"`
	Error    *string `json:"error"`
	Made     string  `json:"createdAt"`
}

func notificationLines(list []hooks.Notification) []notificationLine {
	out := make([]notificationLine, len(list))
	for i, n := range list {
		out[i] = notificationLine{n.ID, n.Endpoint, string(n.Type), n.Run, string(n.State), n.Tries, textOf(n.Error),
			timeText(n.Made)}
	}
	return out
}
