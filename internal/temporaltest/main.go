package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
	"go.temporal.io/server/tools/common/schema"
	"go.temporal.io/server/tools/sql"
)

// options are the flags.
type options struct {
	port                    int
	postgres, visibility    string
	tlsCert, tlsKey, tlsCA  string
	tlsName, apiKey, logged string
}

func main() {
	var o options
	flag.IntVar(&o.port, "port", 0, "the port of 127.0.0.1; 0 takes a free one")
	flag.StringVar(&o.postgres, "postgres", "",
		"URL of the database of PostgreSQL that holds workflows; without it they are in memory")
	flag.StringVar(&o.visibility, "visibility", "", "URL of another database of PostgreSQL, for lists of workflows")
	flag.StringVar(&o.tlsCert, "tls-cert", "",
		"certificate of the server, which is also the one by which its own workers are known")
	flag.StringVar(&o.tlsKey, "tls-key", "", "key of -tls-cert")
	flag.StringVar(&o.tlsCA, "tls-ca", "", "authority of the certificates of clients and of the server")
	flag.StringVar(&o.tlsName, "tls-name", "localhost", "name in -tls-cert")
	flag.StringVar(&o.apiKey, "api-key", "", "the only key that is accepted")
	flag.StringVar(&o.logged, "log", "warn", "least level that is logged to standard error")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected arguments %q", flag.Args())
	}
	if (o.postgres == "") != (o.visibility == "") {
		return errors.New("-postgres and -visibility go together")
	}
	if (o.tlsCert == "") != (o.tlsKey == "") || (o.tlsCert == "") != (o.tlsCA == "") {
		return errors.New("-tls-cert, -tls-key and -tls-ca go together")
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logged, Format: "console"}))
	cfg, err := configure(&o, logger)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	var access = accessByKey(o.apiKey)
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts(cfg)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(access),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return access }),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
			dynamicconfig.NamespaceCacheRefreshInterval.Key():           100 * time.Millisecond,
		}),
	)
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	address := net.JoinHostPort(host, fmt.Sprint(o.port))
	admin, err := dial(address, &o)
	if err != nil {
		return err
	}
	fmt.Println("ready", address)
	go serve(admin) // it ends with the process
	<-signals
	return server.Stop()
}

// serve executes the commands from standard input, and ends the process when standard input ends.
func serve(a *admin) {
	commands := map[string]func(context.Context, string) error{"namespace": a.register, "attributes": a.addAttributes}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		verb, name, _ := strings.Cut(lines.Text(), " ")
		err := fmt.Errorf("unknown command %q", verb)
		if do, ok := commands[verb]; ok {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			err = do(ctx, name)
			cancel()
		}
		if err != nil {
			fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", " "))
			continue
		}
		fmt.Println("done")
	}
	os.Exit(0)
}

// migrate creates the schema of a database, or brings it up to date, using the server's files in a
// folder.
func migrate(cfg *config.SQL, folder string, logger log.Logger) error {
	c, err := sql.NewConnection(cfg, logger)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.ReadSchemaVersion(); err != nil { // it has no tables yet
		if err := schema.NewSetupSchemaTask(c, &schema.SetupConfig{InitialVersion: "0.0"}, logger).Run(); err != nil {
			return err
		}
	}
	return schema.NewUpdateSchemaTask(c, &schema.UpdateConfig{DBName: cfg.DatabaseName, SchemaName: folder},
		logger).Run()
}
