package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hocket-run/hocket/internal/longtest"
)

// The memory of the machine that the tests of memory imitate, in MiB, and the GOMEMLIMIT that a
// server sets for itself there: four fifths of it.
const machineMiB, machineLimit = 1024, "GOMEMLIMIT=819MiB"

// peakMiB returns the largest resident memory of the server so far in MiB. It fails the test if the
// server has ended.
func (w *world) peakMiB() int {
	w.t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.p.cmd.Process.Pid))
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			if err != nil {
				w.t.Fatal(err)
			}
			return kib >> 10
		}
	}
	w.t.Fatalf("the server has ended: %s", w.p.said())
	return 0
}

// survives makes an attack, and checks that the server stays within the memory of a machine of 1
// GiB and answers others afterwards.
func (w *world) survives(t *testing.T, name string, attack func(w *world) any) {
	t.Helper()
	began := time.Now()
	// Where the peak cannot be reset, it is that of all attacks so far.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.p.cmd.Process.Pid), []byte("5"), 0)
	said := attack(w.withTest(t))
	peak := w.withTest(t).peakMiB()
	t.Logf("%s: at most %d MiB, %s: %v", name, peak, time.Since(began).Round(100*time.Millisecond), said)
	if peak > machineMiB {
		t.Errorf("%s: the server took %d MiB", name, peak)
	}
	w.withTest(t).do("GET", "/api/v1/runs?limit=1", "").is(http.StatusOK)
}

// flood sends n requests at the same time, by turns with each of the tokens, and returns how often
// which status came. Every refusal must be a problem with a code.
func (w *world) flood(n int, tokens []string, method, path, body string) map[int]int {
	w.t.Helper()
	var (
		mu       sync.Mutex
		all      sync.WaitGroup
		statuses = map[int]int{}
	)
	for i := range n {
		all.Go(func() {
			a := w.do(method, strings.ReplaceAll(path, "{i}", strconv.Itoa(i)), body,
				"Authorization", "Bearer "+tokens[i%len(tokens)])
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
			if a.status < http.StatusBadRequest {
				return
			}
			code, err := a.problem()
			busy := a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable
			if err != nil || busy && a.header.Get("Retry-After") == "" ||
				!busy && a.status != http.StatusUnprocessableEntity {
				w.t.Errorf("%s %s: %d, code %q, %v", method, path, a.status, code, err)
			}
		})
	}
	all.Wait()
	return statuses
}

// tokensOf makes n tokens with a role.
func (w *world) tokensOf(role string, n int) []string {
	w.t.Helper()
	var out []string
	for i := range n {
		var made struct{ Token string }
		w.do("POST", "/api/v1/tokens", fmt.Sprintf(`{"name": "%s%d", "role": %q}`, role, i, role)).is(
			http.StatusCreated).into(&made)
		out = append(out, made.Token)
	}
	return out
}

// inJSON returns a JSON object of texts, from names and values in turn.
func inJSON(pairs ...string) string {
	all := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// longSteps returns a document of n steps.
func longSteps(n int) string {
	var b strings.Builder
	b.WriteString("workflow:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: s%05d, type: set, values: {a: x}}\n", i)
	}
	return b.String()
}

// TestMemoryOfDocuments checks that many large documents and long values at the same time neither
// end a server with 1 GiB of memory nor stop it from answering (SEC17, ADR 140). `make test-all`
// makes all of the attacks.
func TestMemoryOfDocuments(t *testing.T) {
	many, long := 4, 8
	if longtest.Enabled() {
		many, long = 24, 100
	}
	w := newWorld(t, "\n", machineLimit)
	one, four := w.tokensOf("run", 1), w.tokensOf("edit", 4)
	full := longSteps(19_990)
	documents := map[string]string{"19,990 steps": full}
	if longtest.Enabled() {
		documents["30,000 steps"] = longSteps(30_000)
	}
	for what, text := range documents {
		for _, a := range []struct {
			name, method, path, body string
			tokens                   []string
			isLong                   bool
		}{
			{"compile", "POST", "/documents/compile", inJSON("document", text), four, false},
			{"compile with one token", "POST", "/documents/compile", inJSON("document", text), one, true},
			{"convert", "POST", "/documents/convert", inJSON("document", text, "to", "canvas"), four, true},
			{"validate", "POST", "/workflows/x/validate", inJSON("document", text), four, true},
			{"store", "PUT", "/workflows/w{i}", inJSON("document", text), four, true},
		} {
			if a.isLong && !longtest.Enabled() {
				continue
			}
			w.survives(t, a.name+", "+what, func(w *world) any {
				return w.flood(many, a.tokens, a.method, "/api/v1"+a.path, a.body)
			})
		}
	}
	prompt := w.promptOf10MB()
	w.survives(t, "call", func(w *world) any { return w.flood(long, four, "GET", prompt+"?short=0", "") })
	if !longtest.Enabled() {
		return
	}
	w.do("PUT", "/api/v1/workflows/full", inJSON("document", full)).is(http.StatusOK)
	w.survives(t, "graph", func(w *world) any {
		return w.flood(many, four, "GET", "/api/v1/workflows/full/graph", "")
	})
	w.survives(t, "validate_workflow", func(w *world) any { return w.validateByMCP(many, four) })
}

// promptOf10MB makes a run whose prompt has 10 MB, and returns the path of its model call.
func (w *world) promptOf10MB() string {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{
		"document": "agents:\n  a: {model: openai/m, instruction: Read.}\nworkflow:\n" +
			"  - {id: p, type: agent, name: a, prompt: \"" + strings.Repeat("{{PREVIOUS_OUTPUT}}", 10) + "\"}\n",
		"input": strings.Repeat("x", 1_000_000),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var run struct {
		ID, Status string
		Steps      []struct{ Calls []struct{ Call string } }
	}
	w.do("POST", "/api/v1/runs?wait=1m", string(body)).is(http.StatusCreated).into(&run)
	if run.Status != "completed" {
		w.t.Fatalf("the run is %s", run.Status)
	}
	for i := range 9 {
		path := fmt.Sprintf("/api/v1/runs/%s/calls/%d.0.1", run.ID, i)
		if a := w.do("GET", path, ""); a.status == http.StatusOK {
			return path
		}
	}
	w.t.Fatal("no model call was found")
	return ""
}

// validateByMCP lets n clients validate the stored workflow full at the same time.
func (w *world) validateByMCP(n int, tokens []string) map[string]int {
	w.t.Helper()
	var (
		mu  sync.Mutex
		all sync.WaitGroup
		got = map[string]int{}
	)
	var sessions []*sdk.ClientSession
	for i := range n { // while the server is idle
		sessions = append(sessions, w.session(w.t, tokens[i%len(tokens)]))
	}
	for _, s := range sessions {
		all.Go(func() {
			res, err := s.CallTool(w.t.Context(),
				&sdk.CallToolParams{Name: "validate_workflow", Arguments: map[string]any{"id": "full"}})
			said := "valid"
			switch {
			case err != nil:
				said = err.Error()
			case res.IsError:
				text, _ := json.Marshal(res.Content)
				said = string(text)
			}
			mu.Lock()
			defer mu.Unlock()
			got[said]++
		})
	}
	all.Wait()
	for said := range maps.Keys(got) {
		if said != "valid" && !strings.Contains(said, "limit") && !strings.Contains(said, "unavailable") {
			w.t.Errorf("validate_workflow: %s", said)
		}
	}
	return got
}

// TestMemoryOfRuns checks that runs that make large values, many expressions and many other runs
// neither end a server with 1 GiB of memory nor stop it from answering (SEC17).
func TestMemoryOfRuns(t *testing.T) {
	w := newWorld(t, "\n", machineLimit)
	type run struct {
		ID, Status string
		Error      *struct{ Code, Message string }
	}
	start := func(w *world, wait string, body map[string]any) (r run) {
		w.t.Helper()
		text, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		w.do("POST", "/api/v1/runs?wait="+wait, string(text)).is(http.StatusCreated).into(&r)
		return r
	}
	doubles := "workflow:\n  - {id: s0, type: set, values: {v: \"{{ $input }}\"}}\n"
	for i := range 40 {
		doubles += fmt.Sprintf("  - {id: s%d, type: set, values: {v: [\"{{ $steps.s%d.output.v }}\", "+
			"\"{{ $steps.s%d.output.v }}\"]}}\n", i+1, i, i)
	}
	w.survives(t, "values that double", func(w *world) any {
		r := start(w, "1m", map[string]any{"document": doubles, "input": strings.Repeat("x", 1000)})
		if r.Error == nil || r.Error.Code != "value_too_large" {
			t.Errorf("values that double: %+v", r)
		}
		return r.Error
	})
	expressions := "workflow:\n  - id: s\n    type: set\n    values:\n      v: [" +
		strings.Repeat("\"{{ $input }}\", ", 50_000) + "]\n"
	w.survives(t, "50,000 expressions", func(w *world) any {
		r := start(w, "1m", map[string]any{"document": expressions, "input": "x"})
		return []any{r.Status, r.Error}
	})
}

// TestMemoryOfFamily checks that a workflow that calls itself eight times, up to the limit on such
// runs, does not end a server with 1 GiB of memory, and can be cancelled (SEC17).
func TestMemoryOfFamily(t *testing.T) {
	longtest.Only(t, "internal/service/run.TestWorkflowTool_RunLimit has the limit on the number of runs")
	w := newWorld(t, "\n", machineLimit)
	w.do("PUT", "/api/v1/workflows/self", inJSON("document", "workflow:\n  - {id: m, type: map, over: [0, 1, 2, 3, 4, "+
		"5, 6, 7], max_concurrency: 8, steps: [{id: c, type: workflow, workflow: self, input: x}]}\n"),
		"If-None-Match", "*").is(http.StatusOK)
	w.survives(t, "a workflow that calls itself", func(w *world) any {
		var r struct{ ID, Status string }
		w.do("POST", "/api/v1/runs?wait=1m", inJSON("workflow", "self", "input", "x")).is(http.StatusCreated).into(&r)
		if r.Status == "running" {
			w.do("POST", "/api/v1/runs/"+r.ID+"/cancel?wait=1m", "{}").is(http.StatusOK).into(&r)
		}
		return r.Status
	})
}
