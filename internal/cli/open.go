package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/server"
)

func (a *app) openCmd() *cobra.Command {
	var printOnly bool
	c := &cobra.Command{
		Use: "open", Short: "open the web page of a running server, signed in",
		Long: "Prints a link to the web page of a running server, and opens it in the browser if\nthere is one. The " +
			"link signs a browser in once, within 10 minutes: do not share it.\n\n" +
			"Without --server, the server is the one that was started last on the store of this\nmachine, and the " +
			"session has the rights of the strongest token of the namespace. With\n" +
			"--server, the session has the rights of HOCKET_TOKEN.",
		Example: "  hocket open\n  hocket open --print                                  # for a browser on another " +
			"machine\n  HOCKET_TOKEN=$(cat token) hocket open --server https://hocket.example.com",
		Args: checkArgs(),
		RunE: func(c *cobra.Command, _ []string) error {
			link, err := a.pageLink(c)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(a.Out, link); err != nil {
				return err
			}
			if printOnly || !a.OutTerminal {
				return nil
			}
			return a.browse(c.Context(), link)
		},
	}
	c.Flags().BoolVar(&printOnly, "print", false, "print the link only")
	a.addServerFlag(c)
	return c
}

// pageLink creates a link to the page of the selected server.
func (a *app) pageLink(c *cobra.Command) (string, error) {
	there, err := a.selectedServer(c)
	if err != nil {
		return "", err
	}
	if there != nil {
		defer there.Close()
		code, err := there.SessionCode(c.Context())
		return server.PageLink(there.DB(), code), err
	}
	at, err := a.config().Locator()
	if err != nil {
		return "", err
	}
	listens, page, err := readAddress(at.Beside(server.AddressFile))
	if err != nil {
		return "", err
	}
	if page == "" {
		return "",
			usageErrorf("no server with a page was started on this store; start one with hocket serve, or name " +
				"one with --server")
	}
	if err := checkReachable(c.Context(), listens); err != nil {
		return "", err
	}
	s, store, err := a.accessStore(c.Context(), false)
	if err != nil {
		return "", err
	}
	defer s.Close()
	tokens := access.NewTokens(access.Config{Store: store})
	p, err := tokens.Strongest(c.Context(), a.namespaceInUse())
	if errors.Is(err, access.ErrUnknownToken) {
		return "",
			usageErrorf("the namespace %s has no token to sign in with; create one with hocket tokens create, or "+
				"name the server with --server and its token with %s", a.namespaceInUse(), server.EnvToken)
	}
	if err != nil {
		return "", err
	}
	var code string
	r := access.Record{Namespace: p.Namespace, Action: "session.code", Target: p.Token}
	err = a.recorded(c.Context(), store, r, func(*access.Record) (err error) {
		code, _, err = (&access.Sessions{Store: store, Tokens: tokens}).Code(c.Context(), p)
		return err
	})
	if err != nil {
		return "", err
	}
	return server.PageLink(page, code), nil
}

// readAddress reads the addresses of the server that was started last on the store, and of its
// page. Both are "" if there was none.
func readAddress(path string) (listens, page string, err error) {
	text, err := os.ReadFile(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	listens, rest, _ := strings.Cut(string(text), "\n")
	page, _, _ = strings.Cut(rest, "\n")
	return listens, page, err
}

// checkReachable returns an error unless something accepts connections at the address of a server.
func checkReachable(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usageErrorf("%s is not the address of a server", quote(address))
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return usageErrorf(
			"the server that was started last on this store, at %s, does not answer; start one with hocket "+
				"serve, or name one with --server", address)
	}
	return conn.Close()
}

// browse opens a link in the machine's browser, if there is one. The command that does so sees the
// code, which is used up once the person confirms.
func (a *app) browse(ctx context.Context, link string) error {
	var name string
	args := []string{link}
	switch {
	case a.Env("BROWSER") != "":
		name = a.Env("BROWSER")
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	case cmp.Or(a.Env("DISPLAY"), a.Env("WAYLAND_DISPLAY")) != "":
		name = "xdg-open"
	default:
		return nil // no display
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil //nolint:nilerr // no browser; the link is printed
	}
	if err := exec.CommandContext(ctx, path, args...).Run(); err != nil {
		return fmt.Errorf("open the browser with %s: %w; the link is printed above", name, err)
	}
	return nil
}
