package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// group is a heading of the help with its verbs, in the order in which people need them.
type group struct {
	title string
	verbs []*cobra.Command
}

// arrange adds the groups to root and writes its help.
func arrange(root *cobra.Command, groups []group) {
	var order []string
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.verbs {
			c.GroupID = g.title
			root.AddCommand(c)
			order = append(order, c.Name())
		}
	}
	root.PersistentFlags().BoolP("help", "h", false, "show the help of a command")
	root.Flags().Bool("version", false, "print the version")
	root.SetUsageFunc(func(c *cobra.Command) error {
		_, err := io.WriteString(c.OutOrStderr(), usage(c, order))
		return err
	})
}

// usage returns the help of c below its description. order lists the names of root's verbs in
// display order; other verbs come last.
func usage(c *cobra.Command, order []string) string {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() && c.HasParent() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND [flags]\n", c.CommandPath())
	}
	verbs := slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool {
		return !s.IsAvailableCommand() && s.Name() != "help"
	})
	if !c.HasParent() {
		slices.SortStableFunc(verbs, func(x, y *cobra.Command) int { return place(order, x) - place(order, y) })
	}
	section := func(title, id string) {
		heading := "\n" + title + "\n"
		for _, s := range verbs {
			if s.GroupID == id {
				fmt.Fprintf(&b, "%s  %-*s  %s\n", heading, s.NamePadding(), s.Name(), s.Short)
				heading = ""
			}
		}
	}
	for _, g := range c.Groups() {
		section(g.Title, g.ID)
	}
	if len(c.Groups()) > 0 {
		section("Other commands:", "")
	} else {
		section("Commands:", "")
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(c.Example, "\n"))
	}
	own, common := "Flags:", "Global flags:"
	if !c.HasParent() {
		own = common
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(&b, "\n%s\n%s\n", own, strings.TrimRight(c.LocalFlags().FlagUsages(), "\n"))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(&b, "\n%s\n%s\n", common, strings.TrimRight(c.InheritedFlags().FlagUsages(), "\n"))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nRun `%s` for help on a command.\n",
			strings.Join(strings.Fields("hocket help "+verbPath(c)+" COMMAND"), " "))
	}
	return b.String()
}

// describeAll derives a sentence from the short text of each verb that has no long text.
func describeAll(c *cobra.Command) {
	if c.Long == "" && c.Short != "" {
		c.Long = strings.ToUpper(c.Short[:1]) + c.Short[1:] + "."
	}
	for _, s := range c.Commands() {
		describeAll(s)
	}
}

func place(order []string, c *cobra.Command) int {
	if i := slices.Index(order, c.Name()); i >= 0 {
		return i
	}
	return len(order)
}
