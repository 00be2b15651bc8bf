package process

import (
	"io"
	"os"
	"strings"
)

// chatter lets the messages of a server's standard output pass and takes out the lines between them that are none: many servers greet there or
// print what they are about, and the protocol's reader would end the connection at the first such byte. Messages pass as they are, on one line or
// on several; whether they are good ones is the protocol's matter. Not safe for concurrent use.
type chatter struct {
	r io.ReadCloser
	// onLine gets each line that was taken out, without its end and cut after maxLastBytes.
	onLine func(string)

	in   [32 << 10]byte
	out  []byte // what passed and was not read yet; a part of kept
	kept []byte
	err  error

	depth           int // open braces and brackets of the message that passes; 0 between messages
	quoted, escaped bool
	bracket         bool // a bracket that begins a batch of messages, or a line such as `[INFO] …`
	noise           []byte
	noisy           bool
}

// Messages gives what r says without the lines that are no messages; see chatter. onLine gets those lines, cut after 1 KiB.
//
// Of a pipe that has a deadline, what is in it by then is still read.
func Messages(r io.ReadCloser, onLine func(string)) io.ReadCloser {
	if f, ok := r.(*os.File); ok {
		r = &whole{f: f}
	}
	return &chatter{r: r, onLine: onLine}
}

// Read implements io.Reader.
func (c *chatter) Read(p []byte) (int, error) {
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
func (c *chatter) Close() error { return c.r.Close() }

func (c *chatter) take(b byte) {
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
		case !c.bracket: // blanks after a bracket mean nothing to a batch, and are noise otherwise
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

// inside takes a byte of a message and finds the message's end.
func (c *chatter) inside(b byte) {
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

// drop takes a byte of a line that is no message.
func (c *chatter) drop(b byte) {
	c.bracket, c.noisy = false, true
	if b == '\n' {
		c.endLine()
		return
	}
	if len(c.noise) < maxLastBytes {
		c.noise = append(c.noise, b)
	}
}

func (c *chatter) endLine() {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(c.noise), "\uFFFD")); text != "" {
		c.onLine(text)
	}
	c.noise, c.noisy = c.noise[:0], false
}
