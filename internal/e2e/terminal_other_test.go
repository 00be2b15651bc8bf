//go:build unix && !linux

package e2e_test

import "testing"

// serveAtTerminal starts the server, and returns the link of `hocket open`: there is no terminal
// for tests here.
func serveAtTerminal(t *testing.T, home string, env []string) (p *process, link string) {
	t.Helper()
	p = serve(t, home, env)
	return p, openLink(t, home, env)
}
