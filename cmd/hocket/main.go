// Command hocket runs agent workflows.
package main

import (
	"os"
	"runtime/debug"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

func main() {
	memlimit.Set()
	os.Exit(cli.Process(cli.Wiring{Version: version(), Adapters: providers.Adapters(nil), Postgres: pghome.New(nil), Temporal: connectTemporal}))
}

// version is what the build recorded of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}
