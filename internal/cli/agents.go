package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) agentsCmd() *cobra.Command {
	list := a.agentsListCmd()
	c := &cobra.Command{
		Use: "agents", Short: "manage agents in the store, which documents refer to by id",
		Long: "Manages agents in the store. A document that refers to an agent by id finds it\nthere, unless the " +
			"document or --agents defines it. Without a subcommand, it\nlists the agents.",
		Example: "  hocket agents apply agents.json\n  hocket agents show > agents.json",
		Args:    checkArgs(), RunE: list.RunE,
	}
	c.Flags().AddFlagSet(list.Flags())
	c.AddCommand(a.agentsApplyCmd(), list, a.agentsShowCmd(), a.agentsDeleteCmd())
	return c
}

func (a *app) agentsApplyCmd() *cobra.Command {
	var q service.ApplyAgentsRequest
	c := &cobra.Command{
		Use: "apply FILE…", Short: "store agents",
		Long: "Stores the agents of lists such as\n{\"agents\": [{\"id\": …, \"name\": …, \"systemPrompt\": …, " +
			"\"model\": …, \"tools\": […]}]}\n" +
			"in JSON or YAML, with all keys that agents have. An agent with the same id is\nreplaced. If a list has " +
			"errors, nothing is stored.",
		Args: checkArgs("FILE…"), ValidArgsFunction: documents,
		RunE: func(c *cobra.Command, args []string) error {
			docs, err := a.documents(args)
			q.Documents = docs
			if err != nil {
				return err
			}
			s, err := a.openDefinitions(c, a.open)
			if err != nil {
				return err
			}
			defer s.Close()
			ids, problems, err := s.ApplyAgents(c.Context(), q)
			if err != nil {
				return err
			}
			if err := a.refuse(problems); err != nil {
				return err
			}
			return a.applied(service.Applied{Agents: ids}, false, false)
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&q.Replace, "replace", false,
		"delete the rows of these agents and write them again, in one transaction")
	addAllowUnknown(c, &q.AllowUnknown)
	return c
}

func (a *app) agentsListCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "list stored agents", Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.openDefinitions(c, a.listed)
			if err != nil {
				return err
			}
			defer s.Close()
			rows, err := s.Agents(c.Context())
			if err != nil {
				return err
			}
			if !asJSON {
				return a.agentTable(rows)
			}
			list := make([]json.RawMessage, len(rows))
			for i, r := range rows {
				list[i] = catalog.AgentJSON(r)
			}
			return writeJSON(a.Out, list, a.OutTerminal)
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON, with all keys of the agents")
	return c
}

func (a *app) agentTable(rows []catalog.Row) error {
	return printTable(a, rows, "no agents", "AGENT\tNAME\tMODEL\tDESCRIPTION", func(r catalog.Row) []string {
		return []string{clean(r.ID()), clean(r.Text(1)), clean(r.Text(4)), clean(r.Text(2))}
	})
}

func (a *app) agentsShowCmd() *cobra.Command {
	c := &cobra.Command{
		Use: "show [ID]…", Short: "print stored agents as a list that apply accepts",
		Args: checkArgs("[ID]…"), ValidArgsFunction: a.completeAgent,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.openDefinitions(c, a.openExisting)
			if err != nil {
				return err
			}
			defer s.Close()
			text, err := s.AgentsText(c.Context(), args)
			if err != nil {
				return err
			}
			if a.OutTerminal {
				text = harmless(text)
			}
			if _, err := a.Out.Write(text); err != nil {
				return fmt.Errorf("write agents: %w", err)
			}
			return nil
		},
	}
	a.addServerFlag(c)
	return c
}

func (a *app) agentsDeleteCmd() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "delete ID", Short: "delete a stored agent",
		Long: "Deletes a stored agent. An agent that stored workflows use is deleted only with\n--force.",
		Args: checkArgs("ID"), ValidArgsFunction: once(a.completeAgent),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.openDefinitions(c, a.openExisting)
			if err != nil {
				return err
			}
			defer s.Close()
			err = s.DeleteAgent(c.Context(), args[0], force)
			if errors.Is(err, service.ErrInUse) {
				return usageErrorf("%v; delete it with --force", err)
			}
			if err == nil && !a.quiet {
				fmt.Fprintf(a.Out, "%s: deleted\n", clean(args[0]))
			}
			return err
		},
	}
	a.addServerFlag(c)
	c.Flags().BoolVar(&force, "force", false, "delete the agent even if workflows use it")
	return c
}
