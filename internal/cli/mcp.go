package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) mcpCmd() *cobra.Command {
	var (
		role      string
		workflows []string
	)
	c := &cobra.Command{
		Use: "mcp", Short: "serve workflows, agents and runs to an assistant over MCP",
		Long: "Speaks the Model Context Protocol on standard input and output until the client\ncloses it: an " +
			"assistant can create, change, check and run workflows, and read\n" +
			"runs. The client starts it; see docs/mcp-server.md for the configuration of\nClaude Code, VS Code and " +
			"others.\n\n" +
			"The assistant cannot answer approvals. If the client supports it, it shows the\naction to its user and " +
			"asks for the answer; otherwise a person answers with\nhocket resume. " +
			"Runs that the assistant started are driven by this process. Runs\nin progress when the client " +
			"disconnects are stored; resume_run or hocket resume\ncontinues them.",
		Example: "  claude mcp add hocket -- hocket mcp\n  hocket mcp --role run --workflows newsroom,refunds    # " +
			"may run, may not change anything",
		Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !access.Role(role).IsKnown() {
				return mustBe("role", orList(roleNames()), role)
			}
			return a.mcp(c.Context(), access.Role(role), workflows)
		},
	}
	f := c.Flags()
	f.StringVar(&role, "role", string(access.RoleAdmin),
		"permissions of the assistant (`ROLE`): run starts and reads runs, edit also changes definitions, admin "+
			"allows everything")
	f.StringSliceVar(&workflows, "workflows", nil,
		"`IDS` of published workflows to offer as tools, separated by commas; "+mcpserver.All+" for every one")
	must(c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roleNames(), cobra.ShellCompDirectiveNoFileComp)))
	return c
}

func roleNames() []string {
	var names []string
	for _, r := range access.Roles() {
		names = append(names, string(r))
	}
	return names
}

// mcp serves one client on the standard streams. The user of the process is the caller, except for
// approvals: the input may come from an agent (D32).
func (a *app) mcp(ctx context.Context, role access.Role, workflows []string) error {
	if slices.Contains(workflows, mcpserver.All) && len(workflows) > 1 {
		return mustBe("workflows", "ids, or "+mcpserver.All+" alone", strings.Join(workflows, ","))
	}
	if a.InTerminal && !a.quiet {
		fmt.Fprintln(a.Err, "hocket mcp waits for a client on standard input; Ctrl-C ends it")
	}
	a.longRunning = true
	if err := a.connectTemporal(carry.Queues()); err != nil {
		return err
	}
	if a.carrier != nil {
		_ = a.carrier.Prepare(ctx) // it logs errors; runs wait until the server is available
	}
	s, err := service.Open(ctx, a.config())
	if err != nil {
		return err
	}
	a.workTemporal(ctx, s)
	log, closeLog, err := a.auditLog(ctx, s)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	assistants := mcpserver.New(mcpserver.Config{Version: a.wiring.Version, Workflows: workflows, Logger: a.logger(),
		Audit: server.AuditLog{Log: log}})
	me := access.Principal{Name: access.ActorLocal, Namespace: a.namespaceInUse(), Role: role}
	err = assistants.RunStdio(ctx, io.NopCloser(a.In), nopCloser{a.Out}, &transport.Caller{Principal: me, Service: s})
	for _, end := range []func() error{assistants.Close, closeLog, s.Close} {
		if e := end(); err == nil {
			err = e
		}
	}
	return err
}

// nopCloser keeps standard output open.
type nopCloser struct{ io.Writer }

// Close implements io.Closer.
func (nopCloser) Close() error { return nil }
