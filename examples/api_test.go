package examples_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestNightlyReportCallsAPI checks that the tools of shop/tools.yaml call a shop, retry if it
// fails, and mail the report.
func TestNightlyReportCallsAPI(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the mail program is a shell script")
	}
	var (
		mu     sync.Mutex
		calls  []string
		orders int
	)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("Authorization")))
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/stock" {
			_, _ = w.Write([]byte(`[{"name":"tea","left":2},{"name":"bread","left":40}]`))
			return
		}
		if orders++; orders == 1 {
			http.Error(w, `{"error":"busy"}`, http.StatusServiceUnavailable)
		} else {
			_, _ = w.Write([]byte(`[{"id":1,"total":12.5},{"id":2,"total":7.25}]`))
		}
	}))
	defer shop.Close()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "sendmail"), []byte("#!/bin/sh\ncat > \""+home+"/mail\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self, "run", "nightly-report/nightly-report.yaml", "--replies",
		"nightly-report/replies.yaml", "--tools", "nightly-report/shop/tools.yaml",
		"--db", filepath.Join(home, "hocket.db"))
	c.Env = []string{asProgram + "=1", "HOME=" + home, "PATH=" + home + ":" + os.Getenv("PATH"), "NO_PROXY=*",
		"SHOP_URL=" + shop.URL, "SHOP_TOKEN=s3cret"}
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil || string(out) != "mailed: 2 orders, 19.75 euros\n" {
		t.Fatalf("%v: %q\n%s", err, out, errs.String())
	}
	mail, err := os.ReadFile(filepath.Join(home, "mail"))
	if err != nil || !strings.HasPrefix(string(mail), "Subject: 2 orders, 19.75 euros\n\nOrder tea: two are left.\n") {
		t.Errorf("%v: the mail is %q", err, mail)
	}
	slices.Sort(calls)
	const first, stock = "GET /orders?day=yesterday Bearer s3cret", "GET /stock Bearer s3cret"
	if want := []string{first, first, stock}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	if strings.Contains(errs.String()+string(out)+string(mail), "s3cret") {
		t.Error("the token is shown")
	}
}
