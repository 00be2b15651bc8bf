package process

import (
	"errors"
	"io"
	"os"

	"github.com/hocket-run/hocket/internal/jsontext"
)

// Messages returns a reader for the messages in the output of a program; see [jsontext.Messages].
//
// If r is a pipe with a deadline, data that is in it by then is still read.
func Messages(r io.ReadCloser, f jsontext.Filter) io.ReadCloser {
	if p, ok := r.(*os.File); ok {
		r = &lateReader{f: p}
	}
	return jsontext.Messages(r, f)
}

// lateReader reads a pipe up to its end or its deadline, and then what is already in it, so that a
// delayed reader loses nothing that was written in time. It is not safe for concurrent use.
type lateReader struct {
	f    *os.File
	late int
}

// maxLate is the maximum number of bytes read after the deadline, the maximum capacity of a pipe:
// the process at the other end may write forever.
const maxLate = 1 << 20

// Read implements io.Reader.
func (w *lateReader) Read(b []byte) (int, error) {
	n, err := w.f.Read(b)
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	if n = readNow(w.f, b[:min(len(b), maxLate-w.late)]); n == 0 {
		return 0, err
	}
	w.late += n
	return n, nil
}

// Close implements io.Closer.
func (w *lateReader) Close() error { return w.f.Close() }
