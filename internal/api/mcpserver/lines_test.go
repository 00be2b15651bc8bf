package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
	"github.com/hocket-run/hocket/internal/api/transport"
)

// TestStdio_BadLines checks that a line that is not a message is answered as JSON-RPC requires, and
// that the session continues.
func TestStdio_BadLines(t *testing.T) {
	t.Parallel()
	const parse, invalid = -32700, -32600
	type answer struct {
		id   string
		code int
	}
	for name, tc := range map[string]struct {
		line string
		want []answer
	}{
		"no JSON":             {"not json", []answer{{"null", parse}}},
		"no JSON in braces":   {"{method: 'ping'}", []answer{{"null", parse}}},
		"invalid JSON":        {`{"jsonrpc":"2.0","id":9,}`, []answer{{"null", parse}}},
		"cut off":             {`{"jsonrpc":"2.0","id":9,"method":"pi`, []answer{{"null", parse}}},
		"cut off between":     {`{"jsonrpc":"2.0","id":9,`, []answer{{"null", parse}}},
		"batch cut off":       {`[{"jsonrpc":"2.0"`, []answer{{"null", parse}}},
		"bracket":             {"[", []answer{{"null", parse}}},
		"no UTF-8":            {"\xff\xfe", []answer{{"null", parse}}},
		"text behind":         {`{"jsonrpc":"2.0","id":9,"method":"ping"} x`, []answer{{"9", 0}, {"null", parse}}},
		"no method, no id":    {`{"jsonrpc":"2.0"}`, []answer{{"null", invalid}}},
		"empty":               {`{}`, []answer{{"null", invalid}}},
		"id alone":            {`{"jsonrpc":"2.0","id":9}`, []answer{{"null", invalid}}},
		"malformed response":  {`{"jsonrpc":"2.0","id":9,"error":"no"}`, []answer{{"null", invalid}}},
		"huge response":       {`{"jsonrpc":"2.0","id":9,"result":{"x":"HUGE"}}`, []answer{{"null", invalid}}},
		"no version":          {`{"id":9,"method":"ping"}`, []answer{{"9", invalid}}},
		"another version":     {`{"jsonrpc":"1.0","id":"a","method":"ping"}`, []answer{{`"a"`, invalid}}},
		"version is a number": {`{"jsonrpc":2.0,"id":9,"method":"ping"}`, []answer{{"9", invalid}}},
		"method is a number":  {`{"jsonrpc":"2.0","id":9,"method":1}`, []answer{{"9", invalid}}},
		"id is null":          {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, []answer{{"null", invalid}}},
		"id is an object":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, []answer{{"null", invalid}}},
		"id is true":          {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, []answer{{"null", invalid}}},
		"no object":           {`"text"`, []answer{{"null", invalid}}},
		"number":              {`42`, []answer{{"null", invalid}}},
		"null":                {`null`, []answer{{"null", invalid}}},
		"empty batch":         {`[]`, []answer{{"null", invalid}}},
		"batch of numbers":    {`[1,2]`, []answer{{"null", invalid}, {"null", invalid}}},
		"huge": {`{"jsonrpc":"2.0","method":"tools/call","params":{"x":"HUGE"},"id":9}`,
			[]answer{{"9", invalid}}},
		"huge notification": {`{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"HUGE"}}`,
			[]answer{{"null", invalid}}},
		"huge text":       {`HUGE`, []answer{{"null", parse}}},
		"blank":           {" \r", nil},
		"byte order mark": {"\uFEFF" + `{"jsonrpc":"2.0","id":9,"method":"ping"}` + "\r", []answer{{"9", 0}}},
		"batch": {`[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":9,` +
			`"method":"ping"},{},{"jsonrpc":"2.0","method":"notifications/x"}]`, []answer{{"null", invalid},
			{"9", 0}}},
		"two on a line": {`{"jsonrpc":"2.0","id":9,"method":"ping"}{"jsonrpc":"2.0","id":10,` +
			`"method":"ping"}`, []answer{{"9", 0}, {"10", 0}}},
		"unknown response":     {`{"jsonrpc":"2.0","id":77,"result":{}}`, nil},
		"notification of null": {`{"jsonrpc":"2.0","id":null,"method":"notifications/x"}`, nil},
		"params are no object": {`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}`, []answer{{"9",
			-32602}}},
		"deep": {`{"jsonrpc":"2.0","id":9,"method":"ping","params":` + strings.Repeat("[",
			2000) + strings.Repeat("]", 2000) + `}`, []answer{{"9", invalid}}},
		"unknown method":        {`{"jsonrpc":"2.0","id":9,"method":"x"}`, []answer{{"9", -32601}}},
		"unknown method, no id": {`{"jsonrpc":"2.0","method":"x"}`, nil},
		"id of a running number": {`{"jsonrpc":"2.0","id":"` + strings.Repeat("9", 300) + `","method":1}`,
			[]answer{{`"` + strings.Repeat("9", 300) + `"`, invalid}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, mcpserver.Config{MaxBody: 100 << 10}, nil)
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			me := &transport.Caller{Principal: access.Principal{Name: access.ActorLocal,
				Namespace: access.DefaultNamespace, Role: access.RoleRun},
				Service: w.service(access.DefaultNamespace)}
			ended := make(chan error, 1)
			go func() { ended <- w.server.RunStdio(context.WithoutCancel(t.Context()), in, out, me) }()
			lines := []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
					`"capabilities":{},` +
					`"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				strings.ReplaceAll(tc.line, "HUGE", strings.Repeat("x", 200<<10)),
				`{"method":"ping","jsonrpc":"2.0","id":"last"}`,
			}
			go func() { _, _ = io.WriteString(toServer, strings.Join(lines, "\n")+"\n") }()
			var got []answer
			for s, last := bufio.NewScanner(fromServer), false; !last || len(got) < len(tc.want); {
				if !s.Scan() {
					t.Fatalf("the session ended after %v: %v", got, s.Err())
				}
				var m struct {
					ID    json.RawMessage
					Error struct{ Code int }
				}
				if err := json.Unmarshal(s.Bytes(), &m); err != nil {
					t.Fatalf("%v: %s", err, s.Text())
				}
				switch string(m.ID) {
				case "1":
				case `"last"`:
					last = true
				default:
					got = append(got, answer{string(m.ID), m.Error.Code})
				}
			}
			order := func(a, b answer) int { return strings.Compare(a.id, b.id) }
			slices.SortFunc(got, order)
			slices.SortFunc(tc.want, order)
			if !slices.Equal(got, tc.want) {
				t.Errorf("answers %v, want %v", got, tc.want)
			}
			_ = toServer.Close() // a pipe
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
