package providers_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hocket-run/hocket/internal/model"
)

// A refusal is a recorded response of a server, SERVER-TOPIC.txtar or SERVER-TOPIC-VARIANT.txtar in
// testdata/refusals: what it is and who documents or reports it, then what Hocket makes of it, then
// the response. Topics are quota, context, reason and parameter.
type refusal struct {
	name   string
	want   map[string]string
	status int
	header http.Header
	body   string
}

// refusals returns the recorded refusals of a topic.
func refusals(t *testing.T, topic string) []refusal {
	t.Helper()
	files, err := filepath.Glob("testdata/refusals/*-" + topic + "*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got no refusals of %q: %v", topic, err)
	}
	var out []refusal
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil || len(archive.Files) != 2 {
			t.Fatalf("%s: got %v; want the files want and answer", file, err)
		}
		x := refusal{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), want: map[string]string{}}
		for line := range strings.Lines(string(archive.Files[0].Data)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			x.want[key] = value
		}
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(archive.Files[1].Data)), nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		x.status, x.header, x.body = resp.StatusCode, resp.Header, strings.TrimSuffix(string(body), "\n")
		out = append(out, x)
	}
	return out
}

// TestRefusals checks the kind and the reason of recorded refusals: accounts without money
// or quota, conversations that are too long, what only looks like these, and reasons in every
// shape.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"quota", "context", "reason"} {
		for _, x := range refusals(t, topic) {
			t.Run(x.name, func(t *testing.T) {
				t.Parallel()
				_, err := adapterFor(t, x.want["protocol"], x.status, x.header, x.body).Call(t.Context(), hello, nil)
				var failed *model.Error
				if !errors.As(err, &failed) || string(failed.Kind) != x.want["kind"] {
					t.Fatalf("got %v; want kind %s", err, x.want["kind"])
				}
				if want, ok := x.want["message"]; ok && failed.Message != want {
					t.Errorf("got message %q; want %q", failed.Message, want)
				}
			})
		}
	}
}
