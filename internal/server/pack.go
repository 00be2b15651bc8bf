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
	// leastPacked is the size from which on an answer is packed: a smaller one fits into a packet or two.
	leastPacked = 1400
	// packerBytes is what the packing of one answer holds in memory, as it is charged to the claim of the request.
	packerBytes = 1 << 20
)

// packed packs the answers of a transport with gzip, for clients that take it: JSON and text from leastPacked bytes on that are answered to GET. Event streams are not
// packed, and pass each message on at once.
//
// What is secret and what others choose could be guessed from the size of a packed answer that has both (BREACH). Secrets of the API are answered to POST alone, which
// is never packed; and a page of others cannot send a request with the rights of a session at all (SEC9).
//
// An answer has the same ETag packed and not: it names a version of what is stored, for If-Match.
func packed(next http.Handler) http.Handler {
	writers := &sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return z }} // the level is a constant
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || streams(r) {
			next.ServeHTTP(w, r)
			return
		}
		claim := inflight.From(r.Context())
		p := &packing{ResponseWriter: w, writers: writers, takes: transport.TakesGzip(r), room: func() bool { return claim.Take(packerBytes) == nil }}
		next.ServeHTTP(p, r) // where it panics, the answer broke off, and must not look like a whole one
		p.end()
	})
}

// packing is one answer, which is packed or not once leastPacked bytes of it are known.
type packing struct {
	http.ResponseWriter
	writers *sync.Pool
	takes   bool        // the client takes gzip
	room    func() bool // charges packerBytes; false: the budget is used up

	status  int
	begun   bytes.Buffer // what came before it was decided
	decided bool
	z       *gzip.Writer // nil: not packed
}

// Unwrap lets http.ResponseController find what is behind.
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

// decide sends the status, and what came before, packed or not.
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

// worth tells whether an answer is of a kind that shrinks.
func (p *packing) worth(h http.Header) bool {
	if h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" || p.status == http.StatusNoContent || p.status == http.StatusNotModified {
		return false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind != "text/event-stream" && (strings.HasPrefix(kind, "text/") || kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "application/x-ndjson")
}

// Flush implements http.Flusher.
func (p *packing) Flush() { _ = p.FlushError() }

// FlushError is what http.ResponseController calls.
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

// end sends what is left. An error was told to the transport's answer before.
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
