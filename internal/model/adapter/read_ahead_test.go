package adapter

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hocket-run/hocket/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// aheadBody returns a body that is written ahead, and its expected content.
func aheadBody(t *testing.T) (bodies []body, size int64, want []byte) {
	t.Helper()
	p := NewParts(true)
	for range 40 {
		p.Raw("<")
		p.String(strings.Repeat("a \"line\" <with> much\nto escape & é ", 500))
	}
	b := p.body()
	want, err := io.ReadAll(&reader{rest: []body{b}})
	if err != nil || b.size < 2*minAhead || int64(len(want)) != b.size {
		t.Fatalf("%d bytes of %d, %v", len(want), b.size, err)
	}
	return []body{b}, b.size, want
}

// TestAheadReader checks that a body that is written ahead has the same bytes, however it is read.
func TestAheadReader(t *testing.T) {
	t.Parallel()
	bodies, size, want := aheadBody(t)
	if _, isAhead := newBody(bodies, minAhead-1).(*aheadReader); isAhead {
		t.Error("a small body is written ahead")
	}
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader {
			return r
		}, "halves": iotest.HalfReader, "32 KB": func(r io.Reader) io.Reader { return io.LimitReader(r, size) },
	} {
		r := newBody(bodies, size)
		got, err := io.ReadAll(wrap(r))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(want), err)
		}
		if n, err := r.Read(make([]byte, 10)); n != 0 || err == nil {
			t.Errorf("%s: behind the end %d bytes, %v", name, n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAheadReader_ClosedEarly checks that a body closed before its end returns an error, never
// io.EOF, and leaves no goroutine. TestMain checks for leaks.
func TestAheadReader_ClosedEarly(t *testing.T) {
	t.Parallel()
	bodies, size, _ := aheadBody(t)
	for _, read := range []int64{0, 1, blockBytes, size / 2} {
		r := newBody(bodies, size)
		if _, err := io.CopyN(io.Discard, r, read); err != nil {
			t.Fatal(err)
		}
		reading := make(chan error)
		if read > 1 { // concurrently with a Read
			go func() {
				_, err := io.Copy(io.Discard, io.LimitReader(r, 10*blockBytes))
				reading <- err
			}()
		} else {
			close(reading)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-reading; err != nil && !errors.Is(err, errClosed) {
			t.Errorf("read beside Close: %v", err)
		}
		for n := range 2 * aheadBlocks { // blocks filled earlier may still be returned
			if _, err := r.Read(make([]byte, blockBytes)); errors.Is(err, errClosed) {
				break
			} else if err != nil || n == 2*aheadBlocks-1 {
				t.Errorf("after Close: %v", err)
			}
		}
	}
}
