// Command hocket runs agent workflows.
package main

import (
	"os"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

func main() {
	memlimit.Set()
	os.Exit(cli.Process(cli.Wiring{Adapters: providers.Adapters(nil), Postgres: pghome.New(nil)}))
}
