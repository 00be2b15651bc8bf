package server

import (
	"bytes"
	"compress/gzip"
	"mime"
	"net/http"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/inflight"
)

const (
	// leastPacked is the minimum size of a response that is compressed: a smaller one fits into a
	// packet or two.
	leastPacked = 1400
	// packerBytes is the memory used to compress one response, which is charged to the claim of the
	// request.
	packerBytes = 1 << 20
)

// packed compresses the responses of a transport with gzip for clients that accept it: JSON and
// text of at least leastPacked bytes in response to GET. Event streams are not compressed, and each
// message is passed on immediately.
//
// If a compressed response contains both secrets and data chosen by others, its size could reveal
// the secrets (BREACH). Secrets of the API are returned only to POST, which is never compressed;
// and a foreign page cannot send a request with the permissions of a session at all (SEC9).
//
// A response has the same ETag compressed and uncompressed: it names a version of the stored data,
// for If-Match.
func packed(next http.Handler) http.Handler {
	// the level is a constant
	writers := &sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return z }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || streams(r) {
			next.ServeHTTP(w, r)
			return
		}
		claim := inflight.From(r.Context())
		p := &packing{ResponseWriter: w, writers: writers, takes: transport.TakesGzip(r), room: func() bool {
			return claim.Take(packerBytes) == nil
		}}
		next.ServeHTTP(p, r) // after a panic the response is cut off, and must not look complete
		p.end()
	})
}

// packing is one response, whose compression is decided once leastPacked bytes of it are known.
type packing struct {
	http.ResponseWriter
	writers *sync.Pool
	takes   bool        // the client accepts gzip
	room    func() bool // charges packerBytes; false if the budget is used up

	status  int
	begun   bytes.Buffer // bytes received before the decision
	decided bool
	z       *gzip.Writer // nil if not compressed
}

// Unwrap returns the underlying ResponseWriter for http.ResponseController.
func (p *packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *packing) WriteHeader(status int) {
	switch {
	case status < http.StatusOK || p.decided:
		p.ResponseWriter.WriteHeader(status)
	case p.status == 0:
		p.status = status
	}
}

// Write implements http.ResponseWriter.
func (p *packing) Write(b []byte) (int, error) {
	if !p.decided && p.begun.Len()+len(b) < leastPacked {
		return p.begun.Write(b)
	}
	if err := p.decide(true); err != nil {
		return 0, err
	}
	if p.z != nil {
		return p.z.Write(b)
	}
	return p.ResponseWriter.Write(b)
}

// decide sends the status and the buffered bytes, compressed or not.
func (p *packing) decide(large bool) error {
	if p.decided {
		return nil
	}
	p.decided = true
	h := p.Header()
	if p.worth(h) {
		h.Add("Vary", "Accept-Encoding")
		if large && p.takes && p.room() {
			h.Set("Content-Encoding", "gzip")
			h.Del("Content-Length")
			p.z, _ = p.writers.Get().(*gzip.Writer)
			p.z.Reset(p.ResponseWriter)
		}
	}
	if p.status != 0 {
		p.ResponseWriter.WriteHeader(p.status)
	}
	if p.begun.Len() == 0 {
		return nil
	}
	var err error
	if p.z != nil {
		_, err = p.z.Write(p.begun.Bytes())
	} else {
		_, err = p.ResponseWriter.Write(p.begun.Bytes())
	}
	p.begun = bytes.Buffer{}
	return err
}

// worth reports whether a response is of a compressible kind.
func (p *packing) worth(h http.Header) bool {
	if h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" || p.status == http.StatusNoContent ||
		p.status == http.StatusNotModified {
		return false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind != "text/event-stream" && (strings.HasPrefix(kind, "text/") ||
		kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "application/x-ndjson")
}

// Flush implements http.Flusher.
func (p *packing) Flush() { _ = p.FlushError() }

// FlushError is called by http.ResponseController.
func (p *packing) FlushError() error {
	if err := p.decide(p.begun.Len() >= leastPacked); err != nil {
		return err
	}
	if p.z != nil {
		if err := p.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// end sends what is left. Errors were already returned to the transport's writes.
func (p *packing) end() {
	_ = p.decide(false)
	if p.z == nil {
		return
	}
	_ = p.z.Close()
	p.z.Reset(nil)
	p.writers.Put(p.z)
	p.z = nil
}
