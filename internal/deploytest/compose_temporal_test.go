//go:build unix

package deploytest

import (
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/temporalserver"
)

// temporalAt is the address of Temporal in the container network.
const temporalAt = "temporal:7233"

// temporalAddress returns the value from .env if the profile is enabled.
func temporalAddress(profiles []string) string {
	if slices.Contains(profiles, "temporal") {
		return temporalAt
	}
	return ""
}

// TestComposeTemporalSurvives checks that with the profile temporal the processes run as
// compose.yaml specifies. Each process, including Temporal and PostgreSQL, is killed with -9 in the
// middle of runs that Temporal executes, and restarted if its restart policy says so; all runs end.
func TestComposeTemporalSurvives(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t, pgtest.Config{TCP: true})
	server := temporalserver.Start(t, temporalserver.Config{Postgres: pg.Database(t), Visibility: pg.Database(t)})
	server.Register(t, "default")
	server.AddAttributes(t, "default")
	f := newFleet(t, pg, []string{"temporal"}, temporalAt, server.Address)
	all := f.up("server-1", "server-2", "worker-1", "worker-2")
	servers := all[:2]
	for i, c := range all {
		asked := servers
		if i < 2 {
			asked = servers[1-i : 2-i] // takes all requests while the other is down
		}
		f.begin(servers, 16)
		f.busy(8)
		c.kill()
		f.begin(asked, 4)
		f.restart(c)
		f.ended(asked[0])
	}
	for name, kill := range map[string]func(){
		"temporal": func() { server.Kill(t); server.Start(t) },
		"postgres": func() { pg.Restart(t, pgtest.Kill) },
	} {
		if f.all[name].service.Restart != types.RestartPolicyUnlessStopped {
			t.Errorf("%s is not started again", name)
		}
		f.begin(servers, 16)
		f.busy(8)
		kill()
		for _, c := range all {
			f.ready(c)
		}
		f.ended(servers[0])
	}
	var carried, others int
	err := pgtest.Connect(t, pg.Address("hocket")).QueryRow(t.Context(),
		`SELECT count(*) FILTER (WHERE kind = 'temporal'), count(*) FILTER (WHERE kind <> 'temporal') FROM `+
			`hocket.runs`).Scan(&carried, &others)
	if err != nil || carried != f.begun || others != 0 {
		t.Errorf("Temporal carried %d of %d runs, and %d others are stored: %v", carried, f.begun, others, err)
	}
	f.down(all)
}

// TestComposeTemporal checks that the images match the server that the tests run, and that the
// servers use Temporal only if .env says so.
func TestComposeTemporal(t *testing.T) {
	t.Parallel()
	env := []string{"POSTGRES_PASSWORD=x", "HOCKET_TOKEN=" + token}
	p := project(t, []string{"temporal"}, env...)
	version := strings.TrimPrefix(temporalserver.Version, "v")
	for name, image := range map[string]string{"temporal": "server", "temporal-schema": "admin-tools",
		"temporal-namespace": "admin-tools"} {
		if got, want := p.Services[name].Image, "temporalio/"+image+":"+version; got != want {
			t.Errorf("the image of %s is %q, want %q", name, got, want)
		}
	}
	for module, set := range map[string][]string{"": nil, "temporal": {"HOCKET_TEMPORAL_ADDRESS=" + temporalAt}} {
		if got := project(t, nil, slices.Concat(env, set)...).Services["server-1"].Build.Args["MODULE"]; got == nil ||
			*got != module {
			t.Errorf("with %v the image is built of %v", set, got)
		}
	}
	for _, name := range []string{"server-1", "server-2"} {
		if !slices.Contains(p.Services[name].Command, "--temporal=") {
			t.Errorf("without an address %s has %v", name, p.Services[name].Command)
		}
	}
	if without := project(t, nil, env...); len(without.Services) != 4 {
		t.Errorf("without the profile there are the services %v", without.ServiceNames())
	}
}
