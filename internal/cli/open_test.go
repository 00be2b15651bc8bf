package cli_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

var link = regexp.MustCompile(`(http://127\.0\.0\.1:\d+)/#code=(hkc_\S+)`)

// signsIn signs in with the code of a link and returns the status of the response.
func signsIn(t *testing.T, text string) int {
	t.Helper()
	found := link.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no link in %q", text)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, found[1]+"/api/v1/session", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+found[2])
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// TestOpen checks that at a terminal `hocket serve` prints a link that signs a browser in, even
// with an empty home, and that `hocket open` creates another link, prints it and opens the browser.
// No log contains a link.
func TestOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "", map[string]string{"browser": "#!/bin/sh\nprintf '%s' \"$1\" > \"$(dirname \"$0\")/opened\"\n"})
	browser := filepath.Join(d.dir, "browser")
	if err := os.Chmod(browser, 0o700); err != nil {
		t.Fatal(err)
	}
	d.env["BROWSER"] = browser

	before := d.Streams
	before.Out, before.Err = &buffer{}, &buffer{}
	if status := cli.Main(t.Context(), []string{"open"}, before, d.wiring); status != cli.ExitUse {
		t.Errorf("without a server: %d", status)
	}

	ctx, stop := context.WithCancel(t.Context())
	ready, end := make(chan struct{}), make(chan int, 1)
	var once bool
	d.err.onWrite = func(all string) {
		if !once && regexp.MustCompile(`(?m)^page .*$\n`).MatchString(all) {
			once = true
			close(ready)
		}
	}
	go func() { end <- d.main(ctx, "serve", "--addr", "127.0.0.1:0", "--no-schedules") }()
	select {
	case <-ready:
	case status := <-end:
		t.Fatalf("status %d: %s", status, d.err.String())
	}
	if first, second := signsIn(t, d.err.String()), signsIn(t, d.err.String()); first != http.StatusCreated ||
		second != http.StatusUnauthorized {
		t.Errorf("the link of serve: %d, then %d", first, second)
	}
	if n := strings.Count(d.err.String(), "hkc_"); n != 1 {
		t.Errorf("the code is written %d times: %s", n, d.err.String())
	}

	var out, said buffer
	person := d.Streams
	person.Out, person.Err = &out, &said
	if status := cli.Main(t.Context(), []string{"open"}, person, d.wiring); status != cli.ExitOK {
		t.Fatalf("status %d: %s", status, said.String())
	}
	opened, err := os.ReadFile(filepath.Join(d.dir, "opened"))
	if err != nil || string(opened) != strings.TrimSpace(out.String()) {
		t.Errorf("the browser got %q, %v; printed %q", opened, err, out.String())
	}
	if got := signsIn(t, out.String()); got != http.StatusCreated {
		t.Errorf("the link of open: %d", got)
	}

	// The token of the file is sent to the address of the file, and to no other one of this
	// machine.
	at := link.FindStringSubmatch(d.err.String())[1]
	got := "nothing"
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer other.Close()
	if status := cli.Main(t.Context(), []string{"runs", "--server", other.URL}, person,
		d.wiring); status == cli.ExitOK || got != "" {
		t.Errorf("another server: %d, got %q", status, got)
	}
	if status := cli.Main(t.Context(), []string{"runs", "--server", strings.Replace(at, "127.0.0.1", "localhost", 1)},
		person, d.wiring); status == cli.ExitOK || !strings.Contains(said.String(), "printed") {
		t.Errorf("a name: %d %s", status, said.String())
	}
	if status := cli.Main(t.Context(), []string{"runs", "--server", at}, person, d.wiring); status != cli.ExitOK {
		t.Errorf("its own server: %d %s", status, said.String())
	}

	// With a server and a token, and without opening a browser.
	token, err := os.ReadFile(filepath.Join(d.dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.dir, "opened")); err != nil {
		t.Fatal(err)
	}
	d.env["HOCKET_TOKEN"] = strings.TrimSpace(string(token))
	var printed buffer
	person.Out = &printed
	if status := cli.Main(t.Context(), []string{"open", "--print", "--server", at}, person,
		d.wiring); status != cli.ExitOK || signsIn(t, printed.String()) != http.StatusCreated {
		t.Errorf("status %d: %s", status, said.String())
	}
	if _, err := os.Stat(filepath.Join(d.dir, "opened")); err == nil {
		t.Error("--print opened the browser")
	}

	// Behind a proxy with a path, the link is under that path too.
	target, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/hocket", httputil.NewSingleHostReverseProxy(target)))
	defer proxy.Close()
	var below buffer
	person.Out = &below
	if status := cli.Main(t.Context(), []string{"open", "--print", "--server", proxy.URL + "/hocket/"}, person,
		d.wiring); status != cli.ExitOK || !strings.HasPrefix(below.String(), proxy.URL+"/hocket/#code=hkc_") {
		t.Errorf("status %d: %s %s", status, below.String(), said.String())
	}

	stop()
	<-end
	if strings.Count(d.err.String(), "hkc_") != 1 {
		t.Errorf("the log has a code: %s", d.err.String())
	}
	var late buffer
	person.Err = &late
	if status := cli.Main(t.Context(), []string{"open"}, person, d.wiring); status != cli.ExitUse ||
		!strings.Contains(late.String(), "does not answer") {
		t.Errorf("a server that ended: %d %s", status, late.String())
	}
}
