package process

import (
	"io"
	"os"
	"strings"
)

// messageFilter passes the messages on a server's standard output and removes the other lines
// between them: many servers print a greeting or log lines there, and the protocol's reader would
// end the connection at the first such byte. Messages pass unchanged, on one line or on several;
// the protocol checks whether they are valid. It is not safe for concurrent use.
type messageFilter struct {
	r io.ReadCloser
	// onLine receives each removed line, without its line ending and truncated to maxLastBytes.
	onLine func(string)

	in   [32 << 10]byte
	out  []byte // passed but not yet read; a part of kept
	kept []byte
	err  error

	depth           int // open braces and brackets of the current message; 0 between messages
	quoted, escaped bool
	bracket         bool // a bracket that starts a batch of messages, or a line such as `[INFO] …`
	noise           []byte
	noisy           bool
}

// Messages returns a reader for the output of r without the lines that are not messages; see
// messageFilter. onLine receives those lines, truncated to 1 KiB.
//
// If r is a pipe with a deadline, data that is in it by then is still read.
func Messages(r io.ReadCloser, onLine func(string)) io.ReadCloser {
	if f, ok := r.(*os.File); ok {
		r = &lateReader{f: f}
	}
	return &messageFilter{r: r, onLine: onLine}
}

// Read implements io.Reader.
func (c *messageFilter) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		n, err := c.r.Read(c.in[:])
		c.kept = c.kept[:0]
		for _, b := range c.in[:n] {
			c.take(b)
		}
		c.out = c.kept
		if c.err = err; err != nil {
			c.endLine()
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (c *messageFilter) Close() error { return c.r.Close() }

func (c *messageFilter) take(b byte) {
	switch {
	case c.depth > 0:
		c.inside(b)
	case c.noisy:
		c.drop(b)
	case b == ' ', b == '\t', b == '\r', b == '\n':
		switch {
		case c.bracket && b == '\n':
			c.drop('[')
			c.drop(b)
		case !c.bracket: // blanks after a bracket are insignificant in a batch, and noise otherwise
			c.kept = append(c.kept, b)
		}
	case c.bracket && b == '{':
		c.bracket, c.depth = false, 2
		c.kept = append(c.kept, '[', '{')
	case c.bracket:
		c.drop('[')
		c.drop(b)
	case b == '{':
		c.depth = 1
		c.kept = append(c.kept, b)
	case b == '[':
		c.bracket = true
	default:
		c.drop(b)
	}
}

// inside processes a byte of a message and detects the message's end.
func (c *messageFilter) inside(b byte) {
	c.kept = append(c.kept, b)
	switch {
	case c.escaped:
		c.escaped = false
	case c.quoted:
		c.escaped, c.quoted = b == '\\', b != '"'
	case b == '"':
		c.quoted = true
	case b == '{', b == '[':
		c.depth++
	case b == '}', b == ']':
		c.depth--
	}
}

// drop processes a byte of a line that is not a message.
func (c *messageFilter) drop(b byte) {
	c.bracket, c.noisy = false, true
	if b == '\n' {
		c.endLine()
		return
	}
	if len(c.noise) < maxLastBytes {
		c.noise = append(c.noise, b)
	}
}

func (c *messageFilter) endLine() {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(c.noise), "\uFFFD")); text != "" {
		c.onLine(text)
	}
	c.noise, c.noisy = c.noise[:0], false
}
