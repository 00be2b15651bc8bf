package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/inflight"
	"github.com/hocket-run/hocket/internal/server"
)

const mib = 1 << 20

// send opens a connection and sends the head of a request with a body of size bytes, and the prefix
// of the body in part.
func (s *served) send(t *testing.T, method, path, auth string, size int, part string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, auth, size, part)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rawReply is a response as read from a connection.
type rawReply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// answered reads the status and the head of a response.
func answered(t *testing.T, c net.Conn) rawReply {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return rawReply{resp.StatusCode, resp.Header, resp.Body}
}

// until waits for a condition to hold, for five minutes at most.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("after five minutes: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// keeping adds a transport that reads whole bodies, reports it, and responds when it is released or
// the client leaves.
func (s *served) keeping(t *testing.T) {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := transport.ReadBody(w, r, 9*mib)
		if err != nil {
			transport.WriteProblem(w, r, transport.ProblemOf(err))
			return
		}
		s.entered <- r.URL.Path
		select {
		case <-s.release:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, len(body))
	})
	for name, isOpen := range map[string]bool{"keep": false, "free": true} {
		if err := s.AddMount(server.Mount{Name: name, Patterns: []string{"/" + name + "/"}, Handler: h,
			Open: isOpen}); err != nil {
			t.Fatal(err)
		}
	}
}

// SEC17: stalled bodies are charged for the bytes received, not for those announced; a token that
// has used up its share gets 429, and once all tokens have used up the budget, requests get 503; a
// client's bytes are released as soon as it leaves.
func TestRequestBodies_StalledBudget(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Body: mib, Limits: server.Limits{InFlight: 12 * mib, TokenInFlight: 4 * mib,
		BodyIdle: time.Hour}})
	s.keeping(t)
	half := strings.Repeat("x", mib/2)
	var stalled []net.Conn
	for range 4 { // announced: 8 MiB; received: half
		stalled = append(stalled, s.send(t, "POST", "/keep/a", token, mib, half))
	}
	until(t, "four half bodies are charged", func() bool { now, _ := s.Flight(); return now == 4*mib })
	for _, method := range []string{"POST", "PUT"} {
		resp := answered(t, s.send(t, method, "/keep/a", token, mib, half))
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "5" ||
			!strings.Contains(read(t, resp), "tokenInFlight") {
			t.Errorf("%s above the share: %d %v", method, resp.StatusCode, resp.Header)
		}
	}
	for range 4 {
		stalled = append(stalled, s.send(t, "POST", "/free/a", "", mib, half))
	}
	until(t, "the share of open transports", func() bool { now, _ := s.Flight(); return now == 8*mib })
	if resp := answered(t, s.send(t, "POST", "/free/a", "", mib, half)); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("above the share of open transports: %d", resp.StatusCode)
	}
	if resp := answered(t, s.send(t, "GET", "/test/who", token, 0, "")); resp.StatusCode != http.StatusOK {
		t.Errorf("a request without a body: %d", resp.StatusCode)
	}
	for _, c := range stalled {
		_ = c.Close()
	}
	until(t, "nothing is held when all have left", func() bool { now, _ := s.Flight(); return now == 0 })
	if _, peak := s.Flight(); peak > 12*mib {
		t.Errorf("%d bytes were held", peak)
	}
	whole := s.send(t, "POST", "/keep/a", token, mib, half+half)
	<-s.entered
	close(s.release)
	if resp := answered(t, whole); resp.StatusCode != http.StatusOK {
		t.Errorf("a whole body: %d", resp.StatusCode)
	}
}

// SEC17: a request that exceeds the budget of the process gets 503.
func TestRequestBodies_ProcessBudget(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Body: mib, Limits: server.Limits{InFlight: 2 * mib, TokenInFlight: 2 * mib,
		BodyIdle: time.Hour}})
	s.keeping(t)
	body := strings.Repeat("x", mib)
	first := s.send(t, "POST", "/keep/a", token, mib, body)
	<-s.entered
	resp := answered(t, s.send(t, "POST", "/free/a", "", mib, body[:mib/2]))
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "5" ||
		!strings.Contains(read(t, resp), "limits: {inFlight") {
		t.Errorf("above the budget: %d %v", resp.StatusCode, resp.Header)
	}
	close(s.release)
	if resp := answered(t, first); resp.StatusCode != http.StatusOK {
		t.Errorf("the first: %d", resp.StatusCode)
	}
}

func read(t *testing.T, resp rawReply) string {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// SEC17: a body that stalls or trickles is cut off with 408 at every transport, and holds nothing
// afterwards.
func TestRequestBodies_SlowClient(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Limits: server.Limits{BodyIdle: 50 * time.Millisecond}})
	s.keeping(t)
	for _, path := range []string{"/keep/a", "/free/a", "/api/v1/runs", "/mcp", "/v1/chat/completions",
		"/hooks/" + strings.Repeat("a", 22)} {
		c := s.send(t, "POST", path, token, mib, `{"document": "xxx`)
		stop := make(chan struct{})
		go func() { // a steady trickle of more than 10 bytes a second is still too slow
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					if _, err := io.WriteString(c, "x"); err != nil {
						return
					}
				}
			}
		}()
		resp := answered(t, c)
		close(stop)
		if text := read(t, resp); resp.StatusCode != http.StatusRequestTimeout || !strings.Contains(text, "bodyIdle") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, text)
		}
	}
	until(t, "nothing is held", func() bool { now, _ := s.Flight(); return now == 0 })
}

// SEC1, SEC17: a request without a valid token is rejected before its body is read: it holds no
// bytes, and no stalled connection.
func TestRequestBodies_Unauthenticated(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Limits: server.Limits{BodyIdle: time.Hour}})
	var all []net.Conn
	for _, path := range []string{"/api/v1/runs", "/mcp", "/v1/chat/completions", "/test/change/1", "/nothing"} {
		for _, size := range []int{100_000, 8 * mib} {
			all = append(all, s.send(t, "POST", path, "wrong", size, "{"))
		}
	}
	for i, c := range all {
		if resp := answered(t, c); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%d: %d", i, resp.StatusCode)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) { // it ends; how does not matter
			t.Errorf("%d: the connection stays open", i)
		}
	}
	// The body for an unknown webhook is read and discarded.
	c := s.send(t, "POST", "/hooks/"+strings.Repeat("a", 22), "", 900_000, strings.Repeat("x", 900_000))
	if resp := answered(t, c); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a webhook that does not exist: %d", resp.StatusCode)
	}
	if now, peak := s.Flight(); now != 0 || peak > server.BodyWeight*64<<10 {
		t.Errorf("strangers held %d bytes", peak)
	}
}

// SEC17: a response that its client does not read is charged, and a response for which there is no
// room becomes 429 with none of the transport's headers. A response that has begun is cut off.
func TestResponses_UnreadBudget(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{Body: mib, Limits: server.Limits{InFlight: 64 * mib, TokenInFlight: 24 * mib}})
	large := make([]byte, 16*mib)
	err := s.AddMount(server.Mount{Name: "large", Patterns: []string{"/large/"},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Length", "16777216")
			w.WriteHeader(http.StatusCreated)
			if r.URL.Path == "/large/late" {
				_, _ = w.Write(large[:1])
				_ = http.NewResponseController(w).Flush()
			}
			_, err := w.Write(large)
			if err == nil {
				return
			}
			if r.URL.Path == "/large/panic" { // as huma does
				panic(fmt.Errorf("write the response: %w", err))
			}
			if _, again := w.Write([]byte("more")); again == nil {
				t.Error("a dropped answer goes on")
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	slow := s.send(t, "GET", "/large/a", token, 0, "")
	until(t, "the answer is charged", func() bool { now, _ := s.Flight(); return now == 16*mib })
	resp := answered(t, s.send(t, "GET", "/large/b", token, 0, ""))
	if text := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("ETag") != "" ||
		resp.Header.Get("Retry-After") == "" || !strings.Contains(text, "tokenInFlight") {
		t.Errorf("no room: %d %v %s", resp.StatusCode, resp.Header, text)
	}
	resp = answered(t, s.send(t, "GET", "/large/panic", token, 0, ""))
	if text := read(t, resp); resp.StatusCode != http.StatusTooManyRequests ||
		!strings.Contains(text, "tokenInFlight") {
		t.Errorf("no room, and a panic with that error: %d %s", resp.StatusCode, text)
	}
	resp = answered(t, s.send(t, "GET", "/large/late", token, 0, ""))
	if n, err := io.Copy(io.Discard, resp.Body); err == nil || resp.StatusCode != http.StatusCreated {
		t.Errorf("an answer that had begun: %d, %d bytes, %v", resp.StatusCode, n, err)
	}
	resp = answered(t, slow)
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 16*mib || resp.StatusCode != http.StatusCreated {
		t.Errorf("the slow client got %d of %d: %v", n, resp.StatusCode, err)
	}
	until(t, "nothing is held", func() bool { now, _ := s.Flight(); return now == 0 })
	gone := s.send(t, "GET", "/large/a", token, 0, "")
	until(t, "it is charged again", func() bool { now, _ := s.Flight(); return now == 16*mib })
	_ = gone.Close()
	until(t, "a client that left holds nothing", func() bool { now, _ := s.Flight(); return now == 0 })
}

// TestTransports_ClaimRequestBody checks that a transport's claim is the claim of its request, and
// that its error is a problem that says when to retry.
func TestTransports_ClaimRequestBody(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{Body: mib, Limits: server.Limits{InFlight: 8 * mib, TokenInFlight: 4 * mib}})
	err := w.AddMount(server.Mount{Name: "claim", Patterns: []string{"/claim/"},
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if err := inflight.From(r.Context()).Take(5 * mib); err != nil {
				transport.WriteProblem(rw, r, transport.ProblemOf(err))
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	rec := w.ask(t, "GET", "/claim/", "", nil)
	if p := problem(t, rec); p.Status != http.StatusTooManyRequests || p.Code != "limit" ||
		rec.Header().Get("Retry-After") != "5" {
		t.Errorf("%+v %v", p, rec.Header())
	}
	for _, l := range []server.Limits{{InFlight: mib}, {TokenInFlight: mib}, {BodyIdle: -1}} {
		if err := (server.Config{Body: mib, Limits: l}).Validated(); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}
