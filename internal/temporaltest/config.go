package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
)

const (
	host        = "127.0.0.1"
	clusterName = "active"
)

// configure returns the configuration of a server whose databases have their schemas. It sets the
// port.
func configure(o *options, logger log.Logger) (*config.Config, error) {
	if o.port == 0 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		o.port = port
	}
	address := net.JoinHostPort(host, fmt.Sprint(o.port))
	persistence, err := databases(o, logger)
	if err != nil {
		return nil, err
	}
	services := map[string]config.Service{}
	for _, name := range []primitives.ServiceName{primitives.FrontendService, primitives.HistoryService,
		primitives.MatchingService, primitives.WorkerService} {
		rpc := config.RPC{GRPCPort: o.port, BindOnIP: host}
		if name != primitives.FrontendService {
			if rpc.GRPCPort, err = freePort(); err != nil {
				return nil, err
			}
		}
		if rpc.MembershipPort, err = freePort(); err != nil {
			return nil, err
		}
		services[string(name)] = config.Service{RPC: rpc}
	}
	disabled := config.ArchivalNamespaceDefaults{
		History:    config.HistoryArchivalNamespaceDefaults{State: "disabled"},
		Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
			TLS:        certificates(o),
		},
		Persistence: persistence,
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10, MasterClusterName: clusterName, CurrentClusterName: clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            services,
		Archival: config.Archival{History: config.HistoryArchival{State: "disabled"},
			Visibility: config.VisibilityArchival{State: "disabled"}},
		PublicClient:      config.PublicClient{HostPort: address},
		NamespaceDefaults: config.NamespaceDefaults{Archival: disabled},
	}, nil
}

// hosts returns the addresses of the services: a single-process server needs no membership, whose
// rings would wait for killed processes.
func hosts(c *config.Config) map[primitives.ServiceName]static.Hosts {
	all := map[primitives.ServiceName]static.Hosts{}
	for name, service := range c.Services {
		all[primitives.ServiceName(name)] = static.SingleLocalHost(
			net.JoinHostPort(host, fmt.Sprint(service.RPC.GRPCPort)))
	}
	return all
}

// databases returns the stores of the server, in memory or in PostgreSQL.
func databases(o *options, logger log.Logger) (config.Persistence, error) {
	const main, visibility = "main", "visibility"
	p := config.Persistence{DefaultStore: main, VisibilityStore: visibility, NumHistoryShards: 4}
	if o.postgres == "" {
		memory := &config.SQL{PluginName: sqlite.PluginName, DatabaseName: "temporaltest",
			ConnectAttributes: map[string]string{"mode": "memory", "cache": "shared"}}
		p.VisibilityStore, p.NumHistoryShards = main, 1 // one connection serves all
		p.DataStores = map[string]config.DataStore{main: {SQL: memory}}
		return p, nil
	}
	p.DataStores = map[string]config.DataStore{}
	for name, at := range map[string]string{main: o.postgres, visibility: o.visibility} {
		sql, err := postgres(at)
		if err != nil {
			return p, err
		}
		p.DataStores[name] = config.DataStore{SQL: sql}
	}
	if err := migrate(p.DataStores[main].SQL, "postgresql/v12/temporal", logger); err != nil {
		return p, fmt.Errorf("schema of workflows: %w", err)
	}
	if err := migrate(p.DataStores[visibility].SQL, "postgresql/v12/visibility", logger); err != nil {
		return p, fmt.Errorf("schema of lists: %w", err)
	}
	return p, nil
}

// postgres returns the configuration of a database from its URL. A socket is named by the
// parameters host and port, which pgx prefers to the address.
func postgres(at string) (*config.SQL, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	c := &config.SQL{
		PluginName: postgresql.PluginNamePGX, User: u.User.Username(), Password: password,
		DatabaseName: strings.TrimPrefix(u.Path, "/"),
		ConnectAddr:  u.Host, ConnectProtocol: "tcp", ConnectAttributes: map[string]string{}, MaxConns: 20,
		MaxIdleConns: 20,
	}
	if c.ConnectAddr == "" {
		c.ConnectAddr = "localhost"
	}
	for name, values := range u.Query() {
		c.ConnectAttributes[name] = values[0]
	}
	return c, nil
}

// certificates returns the TLS configuration of the frontend: clients present a certificate of the
// authority, as the server's workers do, unless they have an API key.
func certificates(o *options) config.RootTLS {
	if o.tlsCert == "" {
		return config.RootTLS{}
	}
	client := config.ClientTLS{ServerName: o.tlsName, RootCAFiles: []string{o.tlsCA}}
	return config.RootTLS{
		Frontend: config.GroupTLS{
			Server: config.ServerTLS{CertFile: o.tlsCert, KeyFile: o.tlsKey, RequireClientAuth: o.apiKey == "",
				ClientCAFiles: []string{o.tlsCA}},
			Client: client,
		},
		SystemWorker: config.WorkerTLS{CertFile: o.tlsCert, KeyFile: o.tlsKey, Client: client},
	}
}

// freePort returns a port that was free when it was checked.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// accessByKey is the API key that clients need, or "" if all are accepted.
type accessByKey string

// AuthInfoRequired makes the server call GetClaims even if a request only has a key.
func (k accessByKey) AuthInfoRequired() bool { return true }

// GetClaims rejects a request with a wrong key.
func (k accessByKey) GetClaims(info *authorization.AuthInfo) (*authorization.Claims, error) {
	if k != "" && info.AuthToken != "Bearer "+string(k) {
		return nil, errors.New("the API key is another")
	}
	return &authorization.Claims{System: authorization.RoleAdmin}, nil
}

// Authorize rejects a request without a key, except those of the server's own workers, which have
// none: in the system namespace, and outside namespaces.
func (k accessByKey) Authorize(_ context.Context, claims *authorization.Claims, target *authorization.CallTarget) (
	authorization.Result, error) {
	if k == "" || claims != nil || target.Namespace == "" || target.Namespace == primitives.SystemLocalNamespace {
		return authorization.Result{Decision: authorization.DecisionAllow}, nil
	}
	return authorization.Result{Decision: authorization.DecisionDeny}, nil
}
