package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/transport"
)

// has lists the parts of want that got lacks; lists must have exactly as many items as want shows.
func has(path string, want, got any) []string {
	var bad []string
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range w {
			bad = append(bad, has(path+"."+k, v, g[k])...)
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s has %d items, the guide shows %d", path, len(g), len(w))}
		}
		for i := range w {
			bad = append(bad, has(fmt.Sprintf("%s[%d]", path, i), w[i], g[i])...)
		}
	default:
		if fmt.Sprint(want) != fmt.Sprint(got) {
			bad = append(bad, fmt.Sprintf("%s is %v, the guide shows %v", path, got, want))
		}
	}
	return bad
}

// TestGuide runs the curl commands of docs/api.md in order, and compares the responses with the
// ones in the guide.
func TestGuide(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the guide's commands need %s", program)
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		caller := w.caller
		if r.Header.Get("Authorization") != "Bearer hk_test" {
			caller.Role = ""
		}
		w.api.ServeHTTP(rw,
			r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: caller, Service: w.service})))
	}))
	defer server.Close()
	const mark = "---- end of block ----"
	var script strings.Builder
	var wants []string
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```(?:\n```json\n(.*?)```)?").FindAllStringSubmatch(
		string(text), -1) {
		fmt.Fprintf(&script, "%s\necho; echo '%s'\n", m[1], mark)
		wants = append(wants, m[2])
	}
	c := exec.CommandContext(t.Context(), "bash", "-e", "-c", script.String())
	c.Env = append(os.Environ(), "HOCKET="+server.URL, "HOCKET_TOKEN=hk_test", "NO_PROXY=*")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks := strings.Split(string(out), mark+"\n")
	if len(blocks) != len(wants)+1 || len(wants) < 8 {
		t.Fatalf("%d blocks, %d of them gave something", len(wants), len(blocks)-1)
	}
	for i, want := range wants {
		if want == "" {
			continue
		}
		var w, g any
		if err := json.Unmarshal([]byte(want), &w); err != nil {
			t.Fatalf("block %d of the guide: %v", i+1, err)
		}
		if err := json.Unmarshal([]byte(blocks[i]), &g); err != nil {
			t.Errorf("block %d gave no JSON: %v\n%s", i+1, err, blocks[i])
			continue
		}
		for _, bad := range has("", w, g) {
			t.Errorf("block %d: %s", i+1, bad)
		}
	}
}
