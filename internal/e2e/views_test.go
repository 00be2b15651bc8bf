//go:build unix

package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

// atOnce is the number of clients that request a view concurrently.
const atOnce = 6

// growth returns how many bytes the server may grow by meanwhile: 64 MB if values are stored
// separately from the records. Values within records are decoded by each reader, and the garbage is
// collected later, so more is allowed for all readers together.
func growth(kind string) int64 {
	if kind == "large" {
		return 64 << 20
	}
	return 4 * 64 << 20
}

// sizes returns the sizes of the attacked runs: many outputs above the size at which references are
// used, and more outputs just below it. make test-all uses the sizes of the original attack: 60
// outputs of 4 MB, and 900 of 30 KB.
func sizes() (large, largeBytes, small, smallBytes int) {
	if longtest.Enabled() {
		return 60, 4 << 20, 900, 30 << 10
	}
	return 16, 1 << 20, 150, 30 << 10
}

// TestViewsOfLargeRuns requests every view of runs with large outputs, with six concurrent clients,
// and measures how much the server grows (SEC17): a view contains references, each value is
// streamed, and the content at an address matches its digest.
func TestViewsOfLargeRuns(t *testing.T) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		t.Skip("the most memory that a process had is told by /proc alone")
	}
	large, largeBytes, small, smallBytes := sizes()
	size := map[string]int{"large": largeBytes, "small": smallBytes}
	m := modeltest.Start(t, func(r modeltest.Request) modeltest.Answer {
		kind, number, _ := strings.Cut(strings.TrimSpace(r.LastText()), " ")
		return modeltest.Answer{Text: long(number, size[kind])}
	})
	w := &world{t: t, home: t.TempDir(), asked: &recordingTransport{seen: map[string]bool{}}}
	w.env = []string{"OPENAI_BASE_URL=" + m.BaseURL(), "OPENAI_API_KEY=k",
		"HOCKET_CONFIG=" + filepath.Join(w.home, "none.yaml")}
	if err := os.WriteFile(filepath.Join(w.home, "none.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.p = serve(t, w.home, w.env)
	runs := map[string]string{"large": w.chain("large", large), "small": w.chain("small", small)}
	for kind, run := range runs {
		w.p.kill()
		w.p = serve(t, w.home, w.env) // a process that has not driven the run
		for _, path := range []string{"", "?steps=none", "/steps", "/logs?limit=1000", "/trail", "/context",
			"/events?limit=1000"} {
			w.attack(kind, "/api/v1/runs/"+run+path)
		}
		w.values(kind, run)
	}
}

// long returns a text of n bytes that is unique to number.
func long(number string, n int) string {
	return number + strings.Repeat("<é\n>", n/5+1)[:n-len(number)-4] + "end."
}

// chain runs a document of n agents in sequence.
func (w *world) chain(kind string, n int) string {
	w.t.Helper()
	nodes, edges := []string{`{"id":"s","type":"start","data":{"initialInput":"x"}}`}, []string{}
	for i := range n {
		nodes = append(nodes,
			fmt.Sprintf(`{"id":"n%d","type":"agent","data":{"agentName":"a","userPrompt":"%s %d","model":"openai/m"}}`,
				i, kind, i))
		from := "s"
		if i > 0 {
			from = fmt.Sprintf("n%d", i-1)
		}
		edges = append(edges, fmt.Sprintf(`{"source":"%s","target":"n%d"}`, from, i))
	}
	doc := fmt.Sprintf(`{"name":"%s","nodes":[%s],"connections":[%s]}`, kind, strings.Join(nodes, ","),
		strings.Join(edges, ","))
	body, err := json.Marshal(map[string]any{"document": doc, "limits": map[string]any{"maxSteps": 2 * n}})
	if err != nil {
		w.t.Fatal(err)
	}
	var o struct{ ID, Status string }
	w.do("POST", "/api/v1/runs?wait=1m", string(body)).is(201).into(&o)
	id := o.ID
	for o.Status == "running" || o.Status == "pending" {
		var page struct{ Items []struct{ ID, Status string } }
		w.do("GET", "/api/v1/runs?limit=1", "").is(200).into(&page) // reads no events
		o = page.Items[0]
	}
	if o.Status != "completed" {
		w.t.Fatalf("the run is %.2000s", w.do("GET", "/api/v1/runs/"+id+"?steps=none", "").body)
	}
	return id
}

// attack requests a path with several concurrent clients, none of which keeps the answer.
func (w *world) attack(kind, path string) {
	w.t.Helper()
	before, most, bytes := w.measureMemory(func() int64 { return w.get(path, io.Discard) })
	w.t.Logf("%s run, %d at once, GET %s: %d KB each, memory %d MB, at most %d MB", kind, atOnce,
		path[len("/api/v1/runs/")+26:], bytes>>10, before>>20, most>>20)
	if most-before > growth(kind) {
		w.t.Errorf("GET %s of the %s run: the server grew from %d to %d MB", path, kind, before>>20, most>>20)
	}
	if bytes > 8<<20 {
		w.t.Errorf("GET %s of the %s run: %d bytes", path, kind, bytes)
	}
}

// values reads the outputs that the references name.
func (w *world) values(kind, run string) {
	w.t.Helper()
	var o struct {
		Outputs map[string]json.RawMessage
	}
	type reference struct {
		Value struct {
			Bytes        int64
			SHA256, Href string
		} `json:"$value"`
	}
	w.do("GET", "/api/v1/runs/"+run+"?steps=none", "").is(200).into(&o)
	refs := map[string]reference{}
	for node, text := range o.Outputs {
		var r reference
		if json.Unmarshal(text, &r) == nil && r.Value.Href != "" {
			refs[node] = r
		}
	}
	before, most, _ := w.measureMemory(func() int64 {
		total := int64(0)
		for node, v := range refs {
			if !strings.HasSuffix(node, "1") {
				continue
			}
			sum := sha256.New()
			if got := w.get(v.Value.Href, sum); got != v.Value.Bytes ||
				hex.EncodeToString(sum.Sum(nil)) != v.Value.SHA256 {
				w.t.Errorf("%s has %d bytes of %s", v.Value.Href, got, hex.EncodeToString(sum.Sum(nil)))
			}
			total += v.Value.Bytes
		}
		return total
	})
	n := len(refs)
	w.t.Logf("%s run, %d at once, values of %d references: memory %d MB, at most %d MB", kind, atOnce, n, before>>20,
		most>>20)
	if kind == "large" && n != len(o.Outputs)-1 || most-before > growth(kind) { // except the start
		w.t.Errorf("%d references of %d outputs; the server grew from %d to %d MB", n, len(o.Outputs), before>>20,
			most>>20)
	}
}

// measureMemory runs do in several clients concurrently, and returns the memory of the server
// before and its maximum meanwhile.
func (w *world) measureMemory(do func() int64) (before, most, bytes int64) {
	w.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", w.p.cmd.Process.Pid)
	if err := os.WriteFile(proc+"clear_refs", []byte("5"), 0); err != nil {
		w.t.Fatal(err)
	}
	before = memory(w.t, proc, "VmRSS:")
	var clients sync.WaitGroup
	sizes := make([]int64, atOnce)
	for i := range atOnce {
		clients.Go(func() { sizes[i] = do() })
	}
	clients.Wait()
	return before, memory(w.t, proc, "VmHWM:"), sizes[0]
}

// memory reads a line of a process's status and returns its value in bytes.
func memory(t *testing.T, proc, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(proc + "status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no %s in %s", name, text)
	return 0
}

// get copies the response of a path to a writer, and returns its size.
func (w *world) get(path string, to io.Writer) int64 {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, w.p.url+path, http.NoBody)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	n, err := io.Copy(to, res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Errorf("GET %s: %d, %v", path, res.StatusCode, err)
	}
	return n
}
