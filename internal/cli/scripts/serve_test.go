package scripts_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// listening matches the line in which a server prints its URL.
var listening = regexp.MustCompile(`listening +(https?://\S+)|"msg":"listening","url":"([^"]+)"`)

// cmdAsk sends a request with the token to a server started with start, and prints the response
// body: ask STATUS NAME METHOD PATH [BODY]
func cmdAsk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 || len(args) > 5 {
		ts.Fatalf("usage: ask STATUS NAME METHOD PATH [BODY]")
	}
	found := listening.FindStringSubmatch(ts.ReadFile(args[1] + ".err"))
	if found == nil {
		ts.Fatalf("%s does not listen", args[1])
	}
	var body io.Reader
	if len(args) > 4 {
		body = strings.NewReader(args[4])
	}
	r, err := http.NewRequest(args[2], found[1]+found[2]+args[3], body)
	ts.Check(err)
	if len(args) > 4 {
		r.Header.Set("Content-Type", "application/json")
	}
	token := ts.Getenv("HOCKET_TOKEN")
	if token == "" {
		data, err := os.ReadFile(filepath.Join(ts.Getenv("HOME"), ".local", "share", "hocket", "token"))
		ts.Check(err)
		token = string(bytes.TrimSpace(data))
	}
	r.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Timeout: waitTimeout}
	answer, err := client.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	ts.Check(err)
	if want, err := strconv.Atoi(args[0]); err != nil || answer.StatusCode != want {
		ts.Fatalf("status %d, want %s: %s", answer.StatusCode, args[0], data)
	}
	_, err = ts.Stdout().Write(data)
	ts.Check(err)
}

// cmdAt stores the URL of a server started with start in a variable: at NAME VARIABLE
func cmdAt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: at NAME VARIABLE")
	}
	found := listening.FindStringSubmatch(ts.ReadFile(args[0] + ".err"))
	if found == nil {
		ts.Fatalf("%s does not listen", args[0])
	}
	ts.Setenv(args[1], found[1]+found[2])
}
