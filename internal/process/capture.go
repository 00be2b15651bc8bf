package process

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// capture keeps the first and the last bytes written to it, at most max. It is safe for concurrent
// use.
type capture struct {
	max int

	mu    sync.Mutex
	head  []byte
	tail  []byte // at most twice the length that is kept
	total int64
}

// readAll reads everything from a pipe; an error is treated as the end.
func (c *capture) readAll(f *os.File) { _, _ = io.Copy(c, &lateReader{f: f}) }

// Write implements io.Writer. It never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	c.total += int64(n)
	if room := c.max - c.max/2 - len(c.head); room > 0 {
		take := min(room, len(b))
		c.head, b = append(c.head, b[:take]...), b[take:]
	}
	c.tail = append(c.tail, b...)
	if half := c.max / 2; len(c.tail) > 2*half {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-half:]...)
	}
	return n, nil
}

// kept returns the tail that is shown.
func (c *capture) kept() []byte { return c.tail[max(0, len(c.tail)-c.max/2):] }

// text returns the captured output, with a line in place of the omitted part, and the number of
// bytes omitted. Bytes that are not UTF-8 become U+FFFD.
func (c *capture) text() (text string, dropped int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	valid := func(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
	if n := c.total - int64(len(c.head)+len(c.kept())); n > 0 {
		return valid(c.head) + fmt.Sprintf("\n[... %d bytes left out ...]\n", n) + valid(c.kept()), n
	}
	return valid(slices.Concat(c.head, c.kept())), 0
}
