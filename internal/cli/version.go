package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// buildLine is the output of `version --json`.
type buildLine struct {
	// Version is the version of the module, with a v; "dev" if the build recorded none.
	Version string `json:"version"`
	// Commit and CommitTime are null if the build had no repository, as with go install
	// MODULE@VERSION.
	Commit     *string `json:"commit"`
	CommitTime *string `json:"commitTime"`
	// Modified is set if there were uncommitted changes.
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (a *app) versionCmd() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "version", Short: "print the version, and what it was built from",
		Long: "Prints the version, the commit and the Go release that the program was built\nfrom. hocket --version " +
			"prints the first line alone.",
		Args: checkArgs(),
		RunE: func(*cobra.Command, []string) error {
			v := buildInfo(a.wiring.Version)
			if asJSON {
				return writeJSON(a.Out, v, a.OutTerminal)
			}
			_, err := fmt.Fprint(a.Out, v.text())
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

// buildVersion returns the version of the module that the build recorded, or "dev" if it recorded
// none.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

// buildInfo returns the build information.
func buildInfo(version string) buildLine {
	v := buildLine{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = textOf(s.Value)
		case "vcs.time":
			v.CommitTime = textOf(s.Value)
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v buildLine) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hocket version %s\n", v.Version)
	if v.Commit != nil {
		fmt.Fprintf(&b, "commit %s", *v.Commit)
		if v.CommitTime != nil {
			fmt.Fprintf(&b, " of %s", *v.CommitTime)
		}
		if v.Modified {
			b.WriteString(", with changes")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s %s/%s\n", v.Go, v.OS, v.Arch)
	return b.String()
}
