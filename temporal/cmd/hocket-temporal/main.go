// Command hocket-temporal is command hocket with support for executing runs on a Temporal server.
package main

import (
	"os"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/memlimit"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/store/pghome"
	"github.com/hocket-run/hocket/temporal/internal/carrier"
)

func main() {
	memlimit.Set()
	os.Exit(cli.Process(cli.Wiring{Adapters: providers.Adapters(nil), Postgres: pghome.New(nil),
		Temporal: carrier.Connect}))
}
