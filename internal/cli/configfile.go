package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/service"
)

// readConfig reads the operator's configuration. If it has errors, only the verbs that show them
// run.
func (a *app) readConfig(c *cobra.Command) error {
	operator, problems, err := config.Load(a.configFile, a.Env)
	if err != nil {
		path, _ := config.Find(a.configFile, a.Env)
		hint := a.nextStep(err)
		if errors.Is(err, fs.ErrNotExist) {
			hint = "create it, or name another file with --config or HOCKET_CONFIG"
		}
		text := err.Error()
		if e, ok := errors.AsType[*fs.PathError](err); ok { // its own text repeats the path
			text = "read the configuration: " + e.Err.Error()
		}
		problems.Errorf(diag.Span{File: path}, "", "unreadable", "%s", text).Hint = hint
	}
	a.operator, a.operatorBad = operator, problems
	if problems.HasErrors() {
		a.operator = &config.Config{}
	}
	if withoutConfig(c) {
		return nil
	}
	if err := a.refuse(problems); err != nil {
		return err
	}
	return a.operatorPrices()
}

// operatorPrices reads the operator's price file; --prices takes precedence over it.
func (a *app) operatorPrices() error {
	table, problems, err := service.OperatorPrices(a.operator)
	if err != nil {
		return err
	}
	a.prices = table
	return a.refuse(problems)
}

// isConfig reports whether a file is a configuration file, because of its name or because it is in
// use as one.
func (a *app) isConfig(path string) bool {
	used, _ := config.Find(a.configFile, a.Env)
	return filepath.Base(path) == config.Name || used != "" && sameFile(used, path)
}

// configReport describes the configuration for doctor.
func (a *app) configReport() (path, problem string) {
	path, _ = config.Find(a.configFile, a.Env)
	switch n := len(a.operatorBad); {
	case path == "":
		return "", "the home folder is not known"
	case n == 1:
		return path, a.operatorBad[0].String()
	case n > 1:
		all := "hocket validate " + quote(path)
		if filepath.Base(path) != config.Name {
			all += " --config " + quote(path) // only this flag marks it as a configuration
		}
		return path, fmt.Sprintf("%s, and %d more; %s shows them", a.operatorBad[0], n-1, all)
	}
	return path, ""
}

func withoutConfig(c *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		switch c.Name() {
		case "doctor", "validate", "init", "version", "help", "completion", cobra.ShellCompRequestCmd,
			cobra.ShellCompNoDescRequestCmd:
			return true
		}
	}
	return false
}
