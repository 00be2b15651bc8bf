package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/service"
)

func (a *app) runsProcessesCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "processes", Short: "list the living processes on the store", Args: checkArgs(),
		Long: "Lists the living processes that drive runs of the store, or wait for some: their kind,\nmachine, " +
			"number, place and last heartbeat. A run that needs files or programs of a\n" +
			"machine continues only where a server or worker has its place.",
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := a.openExisting(c.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			all, err := s.Processes(c.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.Out, all, a.OutTerminal)
			}
			now := time.Now()
			return printTable(a, all, "no processes", "KIND\tHOST\tPROCESS\tPLACE\tSEEN",
				func(p service.ProcessReport) []string {
					seen := "never"
					if p.SeenAt != nil {
						seen = ago(*p.SeenAt, now)
					}
					place := clean(p.Place)
					if place == "" {
						place = "-"
					}
					return []string{p.Kind, clean(p.Host), strconv.Itoa(p.PID), place, seen}
				})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a list as JSON")
	return c
}

// processText describes a process.
func processText(p service.ProcessReport, now time.Time) string {
	parts := []string{fmt.Sprintf("hocket %s, process %d on %s", p.Kind, p.PID, p.Host)}
	if p.Place != "" {
		parts = append(parts, "place "+p.Place)
	}
	if p.SeenAt != nil {
		parts = append(parts, "seen "+ago(*p.SeenAt, now))
	}
	return strings.Join(parts, ", ")
}
