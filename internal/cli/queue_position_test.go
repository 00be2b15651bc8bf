package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// TestShowTurn checks X-107: a run that waits for its turn shows its queue position.
func TestShowTurn(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", nil)
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: d.env["HOCKET_DB"],
		Kind: journal.KindServe, Env: d.Env})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, problems, err := s.Load(t.Context(), "w.json",
		[]byte(`{"concurrency": {}, "workflow": [{"type": "ask", "prompt": "go on?"}]}`), service.LoadOptions{})
	if err != nil || problems.HasErrors() {
		t.Fatal(problems, err)
	}
	for n, want := range []string{
		"paused",
		"pending (it is next, when run r0 or another one of its concurrency key has ended)",
		"pending (1 run of its concurrency key before it, the last of them r1)",
	} {
		run := fmt.Sprint("r", n)
		if _, err := s.Start(t.Context(), service.StartRequest{Workflow: w, RunID: run}); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			if _, err := s.Wait(t.Context(), run); err != nil {
				t.Fatal(err)
			}
		}
		for args, want := range map[string]string{"runs show " + run: want,
			"runs show --json " + run: []string{`"interrupted": false`, `"before": 0`, `"run": "r1"`}[n]} {
			var out, errs buffer
			streams := d.Streams
			streams.Out, streams.Err = &out, &errs
			if status := cli.Main(t.Context(), strings.Fields(args), streams, d.wiring); status != cli.ExitOK ||
				!strings.Contains(out.String(), want) {
				t.Errorf("%s: %d, %s%s, want %s", args, status, out.String(), errs.String(), want)
			}
		}
	}
}
