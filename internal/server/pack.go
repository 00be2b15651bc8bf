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
	// minCompressBytes is the minimum size of a response that is compressed: a smaller one fits
	// into a packet or two.
	minCompressBytes = 1400
	// compressorBytes is the memory used to compress one response, which is charged to the claim of
	// the request.
	compressorBytes = 1 << 20
)

// compress compresses the responses of a transport with gzip for clients that accept it: JSON and
// text of at least minCompressBytes bytes in response to GET. Event streams are not compressed, and
// each message is passed on immediately.
//
// If a compressed response contains both secrets and data chosen by others, its size could reveal
// the secrets (BREACH). The API returns secrets only in responses to POST, which are never
// compressed; and a foreign page cannot send a request with the permissions of a session at all
// (SEC9).
//
// A response has the same ETag compressed and uncompressed: it names a version of the stored data,
// for If-Match.
func compress(next http.Handler) http.Handler {
	// the level is a constant
	writers := &sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return z }}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || wantsEventStream(r) {
			next.ServeHTTP(w, r)
			return
		}
		claim := inflight.From(r.Context())
		p := &compressWriter{ResponseWriter: w, writers: writers, acceptsGzip: transport.TakesGzip(r),
			room: func() bool {
				return claim.Take(compressorBytes) == nil
			}}
		next.ServeHTTP(p, r) // after a panic the response is cut off, and must not look complete
		p.end()
	})
}

// compressWriter is one response, whose compression is decided once minCompressBytes bytes of it
// are known.
type compressWriter struct {
	http.ResponseWriter
	writers     *sync.Pool
	acceptsGzip bool        // the client accepts gzip
	room        func() bool // charges compressorBytes; false if the budget is used up

	status   int
	buffered bytes.Buffer // bytes received before the decision
	decided  bool
	z        *gzip.Writer // nil if not compressed
}

// Unwrap returns the underlying ResponseWriter for http.ResponseController.
func (p *compressWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (p *compressWriter) WriteHeader(status int) {
	switch {
	case status < http.StatusOK || p.decided:
		p.ResponseWriter.WriteHeader(status)
	case p.status == 0:
		p.status = status
	}
}

// Write implements http.ResponseWriter.
func (p *compressWriter) Write(b []byte) (int, error) {
	if !p.decided && p.buffered.Len()+len(b) < minCompressBytes {
		return p.buffered.Write(b)
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
func (p *compressWriter) decide(large bool) error {
	if p.decided {
		return nil
	}
	p.decided = true
	h := p.Header()
	if p.compressible(h) {
		h.Add("Vary", "Accept-Encoding")
		if large && p.acceptsGzip && p.room() {
			h.Set("Content-Encoding", "gzip")
			h.Del("Content-Length")
			p.z, _ = p.writers.Get().(*gzip.Writer)
			p.z.Reset(p.ResponseWriter)
		}
	}
	if p.status != 0 {
		p.ResponseWriter.WriteHeader(p.status)
	}
	if p.buffered.Len() == 0 {
		return nil
	}
	var err error
	if p.z != nil {
		_, err = p.z.Write(p.buffered.Bytes())
	} else {
		_, err = p.ResponseWriter.Write(p.buffered.Bytes())
	}
	p.buffered = bytes.Buffer{}
	return err
}

// compressible reports whether a response is of a compressible kind.
func (p *compressWriter) compressible(h http.Header) bool {
	if h.Get("Content-Encoding") != "" || h.Get("Content-Range") != "" || p.status == http.StatusNoContent ||
		p.status == http.StatusNotModified {
		return false
	}
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind != "text/event-stream" && (strings.HasPrefix(kind, "text/") ||
		kind == "application/json" || strings.HasSuffix(kind, "+json") || kind == "application/x-ndjson")
}

// Flush implements http.Flusher.
func (p *compressWriter) Flush() { _ = p.FlushError() }

// FlushError is called by http.ResponseController.
func (p *compressWriter) FlushError() error {
	if err := p.decide(p.buffered.Len() >= minCompressBytes); err != nil {
		return err
	}
	if p.z != nil {
		if err := p.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// end sends what is left. It ignores errors: the transport's writes have already returned them.
func (p *compressWriter) end() {
	_ = p.decide(false)
	if p.z == nil {
		return
	}
	_ = p.z.Close()
	p.z.Reset(nil)
	p.writers.Put(p.z)
	p.z = nil
}
