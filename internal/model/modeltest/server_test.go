package modeltest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model/modeltest"
)

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// TestLedger checks the counts, the ledger and the kept requests, with which a test compares a
// journal; /__calls reports them to other processes.
func TestLedger(t *testing.T) {
	t.Parallel()
	s := modeltest.New(func(r modeltest.Request) modeltest.Answer {
		if r.LastText() == "fail" {
			return modeltest.Answer{Status: 500, Error: "no"}
		}
		return modeltest.Answer{Text: "one two", Usage: &chat.Usage{InputTokens: 5, OutputTokens: 2}}
	})
	srv := httptest.NewServer(s) // as a test in another process would serve it
	t.Cleanup(srv.Close)
	url := srv.URL + "/v1/chat/completions"
	for _, text := range []string{"hi", "fail", "hi"} {
		post(t, url, `{"model":"m","messages":[{"role":"system","content":"You are Writer.\nBe `+
			`brief."},{"role":"user","content":"`+text+`"}]}`)
	}
	post(t, url, `{"model":"m","messages":[{"role":"developer","content":"You are `+
		`Critic."},{"role":"user","content":[{"type":"text","text":"hi"}]}]}`)

	if got := s.Count("Writer"); got != 3 {
		t.Errorf("got %d calls of Writer; want 3", got)
	}
	if d := cmp.Diff(s.Counts(), map[string]int{"You are Writer.": 3, "You are Critic.": 1}); d != "" {
		t.Errorf("counts: -got +want\n%s", d)
	}
	if d := cmp.Diff(s.Ledger(), chat.Usage{InputTokens: 15, OutputTokens: 6}); d != "" {
		t.Errorf("ledger: -got +want\n%s", d)
	}
	resp, err := http.Get(srv.URL + "/__calls")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var report modeltest.Report
	if err := json.NewDecoder(resp.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	if report.Total != 4 || report.MaxInFlight != 1 || report.Usage.InputTokens != 15 ||
		report.Requests[3].LastUser() != "hi" {
		t.Errorf("got report %+v", report)
	}
	s.Reset()
	if s.Count("") != 0 || s.Ledger() != (chat.Usage{}) {
		t.Error("Reset forgot nothing")
	}
}

// TestMaxInFlight checks that the number of calls in flight at once is known, in whatever order
// they end.
func TestMaxInFlight(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	var arrived sync.WaitGroup
	arrived.Add(3)
	s := modeltest.Start(t, func(modeltest.Request) modeltest.Answer {
		arrived.Done()
		return modeltest.Answer{Text: "x", Wait: gate}
	})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { post(t, s.BaseURL()+"/chat/completions", `{"messages":[]}`) })
	}
	arrived.Wait()
	close(gate)
	wg.Wait()
	if got := s.MaxInFlight(); got != 3 {
		t.Errorf("got %d in flight; want 3", got)
	}
}

func TestServer_RefusesRequests(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(t, modeltest.Conformance)
	for path, want := range map[string]int{"/v1/other": 404, "/v1/chat/completions": 400, "/v1/messages": 400} {
		if got, body := post(t, s.URL()+path, "{bro"); got != want ||
			!json.Valid([]byte(strings.ReplaceAll(body, "\n", ""))) {
			t.Errorf("%s: got %d %s; want %d", path, got, body, want)
		}
	}
	if s.Count("") != 0 {
		t.Error("unreadable requests count as calls")
	}
}
