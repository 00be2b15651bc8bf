package service

import (
	"cmp"
	"os"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
)

// sharesRuns reports whether the process is one of those that continue each other's runs.
func (c Config) sharesRuns() bool { return c.Kind == journal.KindServe || c.Kind == journal.KindWorker }

// runKind returns the kind of the runs that are started and continued here: workers continue runs
// of servers.
func (c Config) runKind() journal.Kind {
	if c.Kind == journal.KindWorker {
		return journal.KindServe
	}
	return c.Kind
}

// drivesAt returns the place at which the process continues runs of others; "" means nowhere.
func (c Config) drivesAt() string {
	if c.NoDrive || !c.sharesRuns() {
		return ""
	}
	return c.Place
}

// HostPlace returns the default place of a machine: its host name, with _ in place of characters
// that a place name cannot contain.
func HostPlace() string {
	host, _ := os.Hostname() // without a host name there is one place
	host = strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7f || r == '\ufffd' {
			return '_'
		}
		return r
	}, host)
	if len(host) > 64 {
		host = host[:64]
	}
	return cmp.Or(strings.ToValidUTF8(host, "_"), "local")
}

// Place returns the name of the machine for runs that need its files or programs.
func (s *Service) Place() string { return s.cfg.Place }
