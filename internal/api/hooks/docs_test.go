package hooks_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/outbound"
)

// TestDocsSender runs the sender of docs/webhooks.md, which has its own signing code, against the
// handler (SEC18).
func TestDocsSender(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "openssl", "od"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the example needs %s: %v", tool, err)
		}
	}
	text, err := os.ReadFile("../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```sh\n")
	script, _, ok := strings.Cut(script, "```")
	if !ok || !strings.Contains(script, "openssl") {
		t.Fatal("the page has no sender")
	}
	w := newWorld(t, setup{})
	c := w.create(hooks.CreateRequest{})
	s := httptest.NewServer(w.hooks.Receive())
	defer s.Close()
	for secret, want := range map[string]string{c.Secret: `"status":"pending"`,
		"whsec_" + strings.Repeat("A", 44): `"code":"not_found"`} {
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
		cmd.Env = append(os.Environ(), "URL="+s.URL+hooks.Path("default", c.Of), "SECRET="+secret, "no_proxy=127.0.0.1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// TestDocsReceiver builds the receiver of docs/webhooks.md unchanged, runs it, and sends it
// messages of the notifier and a forged one.
func TestDocsReceiver(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, handler, _ := strings.Cut(string(text), "```go\n")
	handler, _, ok := strings.Cut(handler, "```")
	if !ok || !strings.Contains(handler, "standardwebhooks") {
		t.Fatal("the page has no receiver")
	}
	program := `package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func once(id string, body []byte) { fmt.Printf("%s %s\n", id, body) }

func main() {
` + handler + `
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	panic(http.Serve(l, nil))
}
`
	dir := t.TempDir()
	file, bin := filepath.Join(dir, "main.go"), filepath.Join(dir, "receiver")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, file)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), bin)
	cmd.Env = append(os.Environ(), "DESK_SECRET="+operatorSecret)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the receiver does not say where it listens")
	}
	at := "http://" + lines.Text() + "/hocket"

	forged, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	forged.Header.Set("Webhook-Id", "msg_forged")
	forged.Header.Set("Webhook-Timestamp", strconv.FormatInt(time.Now().Unix(), 10))
	forged.Header.Set("Webhook-Signature", "v1,"+strings.Repeat("A", 43)+"=")
	resp, err := http.DefaultClient.Do(forged)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a forged message: %s", resp.Status)
	}

	cfg := operator(t, newReceiver(t), hooks.Endpoint{On: []hooks.Type{hooks.TypeRunCompleted}})
	cfg.Endpoints[0].URL = at
	cfg.Operator = outbound.New(outbound.Config{Allow: []string{at}})
	t.Cleanup(cfg.Operator.CloseIdleConnections)
	w := newWorld(t, setup{config: cfg})
	w.env["NOTIFY"] = operatorSecret
	defer w.serve(t)()
	run := w.start(echo, "yaml", "", "hello")
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "msg_") || !strings.Contains(lines.Text(), `"run":"`+run+`"`) {
		t.Errorf("the receiver took %s", lines.Text())
	}
	if n := w.settled(t); len(n) != 1 || n[0].State != hooks.StateDelivered || n[0].Tries != 0 {
		t.Errorf("%+v", n)
	}
}
