package schedule_test

import (
	"os"
	"testing"
	"time"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/service"
)

// await waits until the condition holds, up to the test's own timeout.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never happened")
		}
	}
}

func apply(t *testing.T, s *service.Service, q service.ApplyRequest) (service.Applied, diag.List) {
	t.Helper()
	done, problems, err := s.Apply(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return done, problems
}

func applyText(t *testing.T, s *service.Service, file, text string, draft bool) (service.Applied, diag.List) {
	t.Helper()
	return apply(t, s, service.ApplyRequest{Documents: []service.Document{{File: file, Data: []byte(text)}},
		Draft: draft})
}

func TestMain(m *testing.M) {
	if db := os.Getenv(envScheduler); db != "" {
		os.Exit(runSchedulerProcess(db))
	}
	os.Exit(m.Run())
}

const lobby = `{"id": "lobby", "name": "Lobby", "entrypointNodeId": "n1", "nodes": [
  {"id": "n1", "workflowId": "lobby", "nodeType": "AGENT", "nodeName": "Desk", "agentId": "desk"}], "edges": []}`
