//go:build unix

package deploytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/hocket-run/hocket/internal/model/modeltest"
	"github.com/hocket-run/hocket/internal/pgtest"
)

const (
	token      = "a-token-of-the-tests-0123456789"
	composeRun = 60 * time.Second // composeRun is the maximum time for all runs of a round to end
)

// project loads compose.yaml as Compose does, with the variables that it requires.
func project(t *testing.T, profiles []string, env ...string) *types.Project {
	t.Helper()
	file, err := filepath.Abs("../../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	opts, err := cli.NewProjectOptions([]string{file}, cli.WithName("hocket"), cli.WithDiscardEnvFile, cli.WithEnv(env),
		cli.WithProfiles(profiles), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := opts.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestComposeNeeds checks that nothing starts without a password and a token, and that the message
// says where to set them.
func TestComposeNeeds(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{{"HOCKET_TOKEN=" + token}, {"POSTGRES_PASSWORD=x"}} {
		opts, err := cli.NewProjectOptions([]string{"../../compose.yaml"}, cli.WithName("hocket"),
			cli.WithDiscardEnvFile, cli.WithEnv(env))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := opts.LoadProject(t.Context()); err == nil || !strings.Contains(err.Error(), "set it in .env") {
			t.Errorf("with %v: %v", env, err)
		}
	}
}

// TestComposeRights checks that no Hocket service runs as root, writes to its root or may gain
// privileges, and that ports are published on this machine only.
func TestComposeRights(t *testing.T) {
	t.Parallel()
	for name, s := range project(t, []string{"*"}, "POSTGRES_PASSWORD=x", "HOCKET_TOKEN="+token).Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: others can reach the port %s", name, port.Published)
			}
		}
		if s.Image != "hocket" {
			continue
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || !slices.Contains(s.SecurityOpt,
			"no-new-privileges:true") || s.User == "" || strings.HasPrefix(s.User, "0") {
			t.Errorf("%s has rights that it does not need", name)
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < 30*time.Second {
			t.Errorf("%s has %v to end", name, s.StopGracePeriod)
		}
	}
}

// fleet holds the processes of compose.yaml, with a PostgreSQL and a model on this machine.
type fleet struct {
	t     *testing.T
	pg    *pgtest.Server
	all   map[string]*container
	calls atomic.Int64
	begun int
	runs  []string
}

// TestComposeSurvives checks that the processes run as compose.yaml specifies; if the tests run as
// root, each has its own root folder that holds only its program and mounts. Each process is killed
// with -9 in the middle of runs, and restarted if its restart policy says so; the other processes
// continue, and all runs end. Finally SIGTERM shuts each process down in order.
func TestComposeSurvives(t *testing.T) {
	t.Parallel()
	f := newFleet(t, pgtest.Start(t, pgtest.Config{TCP: true}), nil)
	servers := f.up("server-1", "server-2")
	for i, c := range servers {
		other := servers[1-i]
		f.begin(servers, 24)
		f.busy(8)
		c.kill()
		f.ready(other)
		f.begin([]*container{other}, 8) // takes more requests
		f.restart(c)
		f.ended(other)
	}
	f.begin(servers, 24)
	f.busy(8)
	if f.all["postgres"].service.Restart != types.RestartPolicyUnlessStopped {
		t.Error("PostgreSQL is not started again")
	}
	f.pg.Restart(t, pgtest.Kill)
	for _, c := range servers {
		f.ready(c)
	}
	f.ended(servers[0])
	f.down(servers)
}

// up migrates the store, starts servers and workers, and stores the workflow.
func (f *fleet) up(names ...string) []*container {
	t := f.t
	t.Helper()
	migrate := f.all["migrate"]
	migrate.start(t)
	if err := migrate.wait(t, composeRun); err != nil || !strings.Contains(migrate.said(), "tables created") {
		t.Fatalf("migrate: %v: %s", err, migrate.said())
	}
	var all []*container
	for _, name := range names {
		c := f.all[name]
		c.start(t)
		t.Cleanup(c.kill)
		f.ready(c)
		all = append(all, c)
	}
	f.do(all[0], http.MethodPost, "/api/v1/workflows", map[string]any{"id": "chain", "document": chain},
		http.StatusCreated)
	return all
}

// down shuts the processes down in order.
func (f *fleet) down(all []*container) {
	t := f.t
	t.Helper()
	for _, c := range all {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.wait(t, time.Duration(*c.service.StopGracePeriod)); err != nil {
			t.Errorf("%s: %v: %s", c.service.Name, err, c.said())
		}
		if said := c.said(); strings.Contains(said, pgtest.Password) || strings.Contains(said, token) {
			t.Errorf("%s logs a secret", c.service.Name)
		}
	}
}

// chain is a workflow of four calls in sequence.
const chain = `name: chain
agents:
  A: {model: openai/m, instruction: step}
workflow:
  - {type: agent, name: A}
  - {type: agent, name: A}
  - {type: agent, name: A}
  - {type: agent, name: A}
`

// newFleet prepares the services of compose.yaml with the given profiles. others maps text in the
// configuration that names services that are not part of Hocket to local addresses, as old-new
// pairs.
func newFleet(t *testing.T, pg *pgtest.Server, profiles []string, others ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, pg: pg, all: map[string]*container{}}
	model := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
		f.calls.Add(1)
		return modeltest.Answer{Text: "ok", Latency: 100 * time.Millisecond}
	})
	names := strings.NewReplacer(append([]string{"@postgres/", fmt.Sprintf("@127.0.0.1:%d/", f.pg.Port)}, others...)...)
	p := project(t, profiles, "POSTGRES_PASSWORD="+pgtest.Password, "HOCKET_TOKEN="+token, "OPENAI_API_KEY=k",
		"OPENAI_BASE_URL="+model.BaseURL(), "HOCKET_TEMPORAL_ADDRESS="+temporalAddress(profiles))
	for _, name := range p.ServiceNames() {
		if p.Services[name].Image != "hocket" {
			f.all[name] = &container{service: p.Services[name]}
			continue
		}
		f.all[name] = newContainer(t, p, name, names.Replace)
	}
	return f
}

// do sends a request, checks the status and returns the response body.
func (f *fleet) do(c *container, method, path string, body any, want int) []byte {
	f.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		f.t.Fatal(err)
	}
	status, answer, err := f.ask(c, method, path, data)
	if err != nil || status != want {
		f.t.Fatalf("%s of %s: %d %s %v: %s", path, c.service.Name, status, answer, err, c.said())
	}
	return answer
}

func (f *fleet) ask(c *container, method, path string, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+c.addr+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	return answer.StatusCode, data, err
}

// until polls until is returns true.
func (f *fleet) until(what string, is func() bool) {
	f.t.Helper()
	for end := time.Now().Add(composeRun); !is(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			for name, c := range f.all {
				f.t.Logf("%s: %s", name, tail(c.said()))
			}
			f.t.Fatalf("%s: not after %s", what, composeRun)
		}
	}
}

// tail returns the end of a process's output.
func tail(said string) string { return said[max(0, len(said)-4000):] }

func (f *fleet) ready(c *container) {
	f.t.Helper()
	f.until(c.service.Name+" is ready", func() bool {
		select {
		case err := <-c.done:
			f.t.Fatalf("%s ended: %v: %s", c.service.Name, err, c.said())
		default:
		}
		status, _, err := f.ask(c, http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
}

// restart applies the restart policy of a service that was killed.
func (f *fleet) restart(c *container) {
	f.t.Helper()
	if c.service.Restart != types.RestartPolicyUnlessStopped {
		f.t.Errorf("%s is not started again: %q", c.service.Name, c.service.Restart)
	}
	c.start(f.t)
	f.ready(c)
}

// begin starts n runs, using the servers in turn.
func (f *fleet) begin(servers []*container, n int) {
	f.t.Helper()
	for i := range n {
		data := f.do(servers[i%len(servers)], http.MethodPost, "/api/v1/runs",
			map[string]any{"workflow": "chain", "input": fmt.Sprint(f.begun)}, http.StatusCreated)
		var run struct{ ID string }
		if err := json.Unmarshal(data, &run); err != nil || run.ID == "" {
			f.t.Fatalf("%s: %v", data, err)
		}
		f.begun++
		f.runs = append(f.runs, run.ID)
	}
}

// busy waits for n more model calls.
func (f *fleet) busy(n int64) {
	f.t.Helper()
	from := f.calls.Load()
	f.until("the model is called", func() bool { return f.calls.Load() >= from+n })
}

// ended waits until a server reports that all runs are completed.
func (f *fleet) ended(c *container) {
	f.t.Helper()
	var last []byte
	defer func() {
		if f.t.Failed() {
			f.t.Logf("%s", last)
		}
	}()
	for _, id := range f.runs {
		f.until("run "+id+" is completed", func() bool {
			status, data, err := f.ask(c, http.MethodGet, "/api/v1/runs/"+id, nil)
			last = data
			var run struct{ Status string }
			if err != nil || status != http.StatusOK || json.Unmarshal(data, &run) != nil {
				return false
			}
			if run.Status == "failed" || run.Status == "cancelled" {
				f.t.Fatalf("%s", data)
			}
			return run.Status == "completed"
		})
	}
	f.runs = nil
}
