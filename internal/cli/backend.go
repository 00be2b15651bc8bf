package cli

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/client"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// stateReader holds the operations of verbs that read runs. Both implementations, a local store and
// a server, return the same for the same run.
type stateReader interface {
	// DB returns the location of the runs: a path, or the URL of a server.
	DB() string
	Read(ctx context.Context, run string) (service.Recorded, error)
	EachEvent(ctx context.Context, run string, after uint64, take func(event.Event) error) error
	View(ctx context.Context, run string) (*view.Reader, error)
	List(ctx context.Context, q journal.Query) ([]journal.Head, string, error)
	RunCounts(ctx context.Context, q journal.Query) (view.RunCounts, error)
	Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error]
	Wait(ctx context.Context, run string) (driver.State, error)
	Close() error
}

// control holds the operations of verbs that change runs.
type control interface {
	Answer(ctx context.Context, run string, a service.AnswerRequest) error
	Proceed(ctx context.Context, rec service.Recorded, p service.Proceed) error
	TakeUp(ctx context.Context, run string) error
	Stopped(ctx context.Context, run string) (driver.State, error)
	Interrupt(ctx context.Context, run string) error
}

// backend is the local store or server that holds the runs.
type backend interface {
	stateReader
	control
}

// definitions holds the operations of verbs that manage workflows and agents. Both implementations
// return the same errors with the same messages.
type definitions interface {
	workflowStore
	agentStore
	Close() error
}

type workflowStore interface {
	Apply(ctx context.Context, q service.ApplyRequest) (service.Applied, diag.List, error)
	Entries(ctx context.Context) ([]catalog.Entry, error)
	Entry(ctx context.Context, id string) (catalog.Entry, error)
	Versions(ctx context.Context, id string) ([]catalog.Version, error)
	Definition(ctx context.Context, id string, which service.Which) (service.Definition, error)
	Publish(ctx context.Context, id string, number int) (catalog.Entry, diag.List, error)
	DeleteWorkflow(ctx context.Context, id string) error
}

type agentStore interface {
	ApplyAgents(ctx context.Context, q service.ApplyAgentsRequest) ([]string, diag.List, error)
	Agents(ctx context.Context) ([]catalog.Row, error)
	AgentsText(ctx context.Context, ids []string) ([]byte, error)
	DeleteAgent(ctx context.Context, id string, anyway bool) error
}

var (
	_ backend     = (*service.Service)(nil)
	_ backend     = (*client.Remote)(nil)
	_ definitions = (*service.Service)(nil)
	_ definitions = (*client.Remote)(nil)
)

// envServer is the environment variable equivalent to --server.
const envServer = "HOCKET_SERVER"

// addServerFlag adds --server to a verb. Each verb that has the flag works the same with a server
// as with a store.
func (a *app) addServerFlag(c *cobra.Command) {
	c.Flags().StringVar(&a.server, "server", "", "`URL` of a hocket server to use instead of a local store (default: "+
		envServer+")")
}

// rejectLocalOnly returns an error if a server is selected and the verb or a flag works only
// locally.
func (a *app) rejectLocalOnly(c *cobra.Command) error {
	switch f := c.Flags().Lookup("server"); {
	case f != nil && c.Flags().Changed("namespace") && (f.Changed || a.Env(envServer) != ""):
		return usageErrorf("--namespace and --server cannot be given together: the token determines the namespace")
	case f != nil && c.Flags().Changed("temporal") && (f.Changed || a.Env(envServer) != ""):
		return usageErrorf("--temporal and --server cannot be given together: the server decides what carries its runs")
	case f != nil, a.Env(envServer) == "":
		return nil
	}
	local := []string{"schedule", "scheduler"}
	if slices.ContainsFunc(strings.Fields(c.CommandPath()), func(word string) bool {
		return slices.Contains(local, word)
	}) {
		return usageErrorf("%s is set, but %s works only on a local store; unset it, or use the server's API",
			envServer,
			c.CommandPath())
	}
	return nil
}

// selectedServer returns the selected server, or nil for the local store.
func (a *app) selectedServer(c *cobra.Command) (*client.Remote, error) {
	if a.server == "" && !c.Flags().Changed("server") {
		a.server = a.Env(envServer)
	}
	if a.server == "" {
		if c.Flags().Changed("server") {
			return nil, mustBe("server", "an address such as http://127.0.0.1:7788", "")
		}
		return nil, nil
	}
	if c.Flags().Changed("db") {
		return nil, usageErrorf("--db and --server cannot be given together: the server has its own store")
	}
	token, err := a.clientToken()
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{URL: a.server, Token: token})
}

// clientToken returns HOCKET_TOKEN, or for the server that was started last on the default store
// the token that a server created next to it, or "" if there is none.
func (a *app) clientToken() (string, error) {
	if token := a.Env(server.EnvToken); token != "" {
		return token, nil
	}
	at, err := a.config().Locator()
	if err != nil {
		return "", err
	}
	// anyone on this machine can listen on another port, so the token is only for the server's own
	listens, _, err := readAddress(at.Beside(server.AddressFile))
	if err != nil || !isOwnServer(a.server, listens) {
		return "", err
	}
	text, err := os.ReadFile(at.Beside(server.TokenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// isOwnServer reports whether an address, as written, is the loopback address on which a server
// listens; a server that listens on all addresses has each of them. No name is looked up: what
// localhost means, others may decide.
func isOwnServer(address, listens string) bool {
	u, err := url.Parse(address)
	l, lerr := url.Parse(listens)
	if err != nil || lerr != nil || u.Scheme != l.Scheme || u.Port() != l.Port() {
		return false
	}
	ip, own := net.ParseIP(u.Hostname()), net.ParseIP(l.Hostname())
	return ip.IsLoopback() && own != nil && (own.IsUnspecified() || own.Equal(ip))
}

// openBackend returns the backend for verbs that only read, or that ask others to act.
func (a *app) openBackend(c *cobra.Command) (backend, error) {
	if r, err := a.selectedServer(c); r != nil || err != nil {
		return r, err
	}
	s, err := a.openExisting(c.Context())
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openDefinitions returns the store or server of workflows and agents; here opens the local store.
func (a *app) openDefinitions(c *cobra.Command, here func(context.Context) (*service.Service, error)) (
	definitions, error) {
	if c.Flags().Lookup("server") != nil {
		if r, err := a.selectedServer(c); r != nil || err != nil {
			return r, err
		}
	}
	s, err := here(c.Context())
	if err != nil {
		return nil, err
	}
	return s, nil
}
