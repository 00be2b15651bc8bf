//go:build unix

package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// TestAttackHungLeader stops the server that runs the schedules. Another one takes its place after
// server.takeOverAfter, and when the first one continues it no longer leads.
func TestAttackHungLeader(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	m := modeltest.Start(t, says)
	env := []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k",
		"HOCKET_CONFIG=" + filepath.Join(home, "operator.yaml")}
	everyThree := strings.Replace(tick, `"schedule": "1"`, `"schedule": "3"`, 1)
	for name, text := range map[string]string{"operator.yaml": "server: {takeOverAfter: 15s}\n",
		"tick.json": everyThree} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if v := hocket(t, home, env, "workflows", "apply", "tick.json"); v.status != 0 {
		t.Fatalf("%+v", v)
	}
	began := time.Now()
	said := func(p *process, text string, times int) {
		t.Helper()
		for tick := time.NewTicker(100 * time.Millisecond); strings.Count(p.said(), text) < times; <-tick.C {
			if time.Since(began) > 2*time.Minute {
				t.Fatalf("the server does not say %q %d times: %s", text, times, p.said())
			}
		}
	}
	hung := serve(t, home, env)
	said(hung, "msg=leading", 1)
	heir := serve(t, home, env)
	said(heir, "msg=waiting", 1)
	hung.stop(t, home)
	defer func() { _ = hung.cmd.Process.Signal(syscall.SIGCONT) }()
	stopped := time.Now()
	said(heir, "msg=leading", 1)
	took := time.Since(stopped)
	if took < 10*time.Second {
		t.Errorf("the other server leads %s after the first was stopped", took)
	}
	t.Logf("the other server leads %s after the first was stopped", took.Round(time.Millisecond))
	led := strings.Count(hung.said(), "msg=leading")
	if err := hung.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	said(hung, "msg=waiting", 1)
	hung.until(t, http.StatusOK)
	said(heir, "workflow=tick", 2)
	if n := strings.Count(hung.said(), "msg=leading"); n != led {
		t.Errorf("the server that was stopped leads again: %s", hung.said())
	}
}
