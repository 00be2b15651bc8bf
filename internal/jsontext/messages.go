package jsontext

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// Filter says what [Messages] does with the parts of a stream.
type Filter struct {
	// Max is the size in bytes up to which a message is kept; 0 means no limit.
	Max int
	// OneLine means that a message is on one line: a line that ends before it is not a message.
	OneLine bool
	// Message returns what stands for a message in the output, or nothing to remove it; if nil, all
	// messages pass unchanged. m is valid until it returns. If size, the number of bytes of the
	// message, is greater than Max, m is the [Outline] of the message.
	Message func(m []byte, size int64) []byte
	// Line receives each line that is not a message, without its line ending and truncated to 1
	// KiB; if nil, such lines are discarded.
	Line func(string)
}

// Messages returns a reader for the messages in r, each on a line of its own, without the other
// lines between them: many programs print a greeting or log lines where only messages are expected,
// and the protocol's reader would end the connection at the first such byte. A message is a JSON
// object, or an array that begins with an object, on one line or on several; Messages checks only
// its braces. Byte order marks are removed.
func Messages(r io.ReadCloser, f Filter) io.ReadCloser { return &messages{Filter: f, r: r} }

// maxLine is the number of bytes of a line that is not a message which are kept.
const maxLine = 1 << 10

// newMessage, at the start of a line, begins a message, even if the one before is incomplete.
const newMessage = `{"jsonrpc"`

const byteOrderMark = "\uFEFF"

// messages is a reader of messages. It is not safe for concurrent use.
type messages struct {
	Filter
	r io.ReadCloser

	in   [32 << 10]byte
	out  []byte // passed but not yet read; a part of kept
	kept []byte
	err  error

	mark    int  // bytes of a byte order mark that were read
	bracket bool // a bracket that starts a batch of messages, or a line such as `[INFO] …`
	noise   []byte
	noisy   bool

	message []byte // the current message; its beginning if it is larger than Max
	size    int64  // 0 between messages
	outline Outline
	opened  bool // only blanks came after the first brace
	again   int  // bytes of newMessage at the start of this line; -1 if the line begins differently
	line    int  // where the line begins in message
}

// Read implements io.Reader.
func (c *messages) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		n, err := c.r.Read(c.in[:])
		c.kept = c.kept[:0]
		for _, b := range c.in[:n] {
			c.take(b)
		}
		if c.err = err; err != nil {
			c.restart()
			c.abandon(len(c.message))
			c.endLine()
		}
		c.out = c.kept
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (c *messages) Close() error { return c.r.Close() }

func (c *messages) take(b byte) {
	switch {
	case c.size > 0:
		c.inside(b)
	case c.noisy:
		c.drop(b)
	case !c.bracket && b == byteOrderMark[c.mark]:
		c.mark = (c.mark + 1) % len(byteOrderMark)
	case c.mark > 0:
		for _, m := range []byte(byteOrderMark[:c.mark]) {
			c.drop(m)
		}
		c.mark = 0
		c.drop(b)
	case isBlank(b):
		if c.bracket && b == '\n' { // other blanks after a bracket are insignificant in a batch
			c.drop('[')
			c.drop(b)
		}
	case c.bracket && b == '{':
		c.bracket = false
		c.keep('[')
		c.begin()
	case c.bracket:
		c.drop('[')
		c.drop(b)
	case b == '{':
		c.begin()
	case b == '[':
		c.bracket = true
	default:
		c.drop(b)
	}
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// begin processes the first brace of a message.
func (c *messages) begin() {
	c.keep('{')
	c.opened, c.again, c.line = true, -1, 0
}

// keep adds a byte to the message and reports whether it is the last one.
func (c *messages) keep(b byte) bool {
	if c.size++; c.Max == 0 || c.size <= int64(c.Max) {
		c.message = append(c.message, b)
	} else if len(c.message) > maxLine {
		c.message = bytes.Clone(c.message[:maxLine])
	}
	return c.outline.add(b)
}

// inside processes a byte of a message. A text that cannot be JSON is not a message.
func (c *messages) inside(b byte) {
	if c.opened && !isBlank(b) && b != '"' && b != '}' || (c.outline.quoted || c.OneLine) && b == '\n' {
		c.abandon(len(c.message))
		c.drop(b)
		return
	}
	if b == '\n' && c.restart() {
		c.take(b)
		return
	}
	c.opened = c.opened && isBlank(b)
	switch {
	case b == '\n':
		c.again, c.line = 0, len(c.message)+1
	case c.again >= 0 && b == newMessage[c.again]:
		c.again++
	default:
		c.again = -1
	}
	if c.again == len(newMessage) {
		c.abandon(min(c.line, len(c.message)))
		c.endLine()
		for _, b := range []byte(newMessage) {
			c.take(b)
		}
		return
	}
	if !c.keep(b) {
		return
	}
	m := c.message
	if c.Max > 0 && c.size > int64(c.Max) {
		m = c.outline.Bytes()
	}
	if c.Message != nil {
		m = c.Message(m, c.size)
	}
	if len(m) > 0 {
		c.kept = append(append(c.kept, m...), '\n')
	}
	c.forget()
}

// restart reports whether the last line of an incomplete message is a message by itself, which then
// has passed: what came before is not a message.
func (c *messages) restart() bool {
	if c.line == 0 || c.line >= len(c.message) || c.message[c.line] != '{' || c.size > int64(len(c.message)) ||
		c.message[0] == '[' && c.outline.depth == 1 { // a batch has messages on its lines
		return false
	}
	var m struct {
		Version json.RawMessage `json:"jsonrpc"`
	}
	if json.Unmarshal(c.message[c.line:], &m) != nil || m.Version == nil {
		return false
	}
	line := bytes.Clone(c.message[c.line:])
	c.abandon(c.line)
	for _, b := range line {
		c.take(b)
	}
	return true
}

// abandon makes the first n bytes of an incomplete message lines that are not messages.
func (c *messages) abandon(n int) {
	m := c.message[:n]
	c.forget()
	for _, b := range m {
		c.drop(b)
	}
}

func (c *messages) forget() {
	if c.message = c.message[:0]; cap(c.message) > 1<<20 {
		c.message = nil
	}
	c.size, c.outline = 0, Outline{text: c.outline.text[:0]}
}

// drop processes a byte of a line that is not a message.
func (c *messages) drop(b byte) {
	c.bracket, c.noisy = false, true
	if b == '\n' {
		c.endLine()
		return
	}
	if len(c.noise) < maxLine {
		c.noise = append(c.noise, b)
	}
}

func (c *messages) endLine() {
	if text := strings.TrimSpace(strings.ToValidUTF8(string(c.noise), "\uFFFD")); text != "" && c.Line != nil {
		c.Line(text)
	}
	c.noise, c.noisy = c.noise[:0], false
}

// Outline is what remains of an object, or of an array of objects, that is too large to be kept:
// the members of the object, or of each object of the array, without the contents of the objects
// and arrays in them, such as {"id":1,"result":{}}. Long strings become empty. If there is too
// much, members are left out, last those that identify a message, and then objects of the array.
// The zero Outline is empty.
type Outline struct {
	text            []byte
	depth, keep     int // open braces and brackets; how many may be open where text is kept
	quoted, escaped bool
	start           int // where the current string begins in text
	long            bool
	// parts are where the current member or object begins in text, with the comma before it, by the
	// number of open braces and brackets. cut means that not all of it is in text.
	parts [3]int
	cut   bool
}

const (
	maxOutlineString = 256
	maxOutline       = 64 << 10       // beyond this only members that identify a message are kept
	maxOutlineText   = 2 * maxOutline // beyond this nothing is
)

// Write adds a part of the text. It returns no error.
func (o *Outline) Write(p []byte) (int, error) {
	for _, b := range p {
		o.add(b)
	}
	return len(p), nil
}

// Bytes returns the outline of what was written.
func (o *Outline) Bytes() []byte { return o.text }

// add adds a byte and reports whether it ends the object or array.
func (o *Outline) add(b byte) (end bool) {
	depth, inString := o.depth, o.quoted
	switch {
	case o.escaped:
		o.escaped = false
	case o.quoted:
		o.escaped, o.quoted = b == '\\', b != '"'
	case b == '"':
		o.quoted = true
	case b == '{', b == '[':
		if o.depth++; depth == 0 {
			o.keep = 1
			if b == '[' {
				o.keep = 2
			}
		}
	case b == '}', b == ']':
		o.depth--
	}
	if min(depth, o.depth) > o.keep {
		return false
	}
	switch {
	case !inString && o.quoted:
		o.put(b)
		o.start, o.long = len(o.text), false
	case o.quoted && o.long:
	case o.quoted && len(o.text)-o.start == maxOutlineString:
		o.text, o.long = o.text[:o.start], true
	case inString:
		o.put(b)
	case depth > 0 && depth <= o.keep && (b == ',' || o.depth < depth):
		o.endPart(depth)
		if b != ',' {
			o.text = append(o.text, b)
		} else if o.parts[depth] = len(o.text); !o.isFirst() {
			o.text = append(o.text, b)
		}
	case o.depth > depth && o.depth > 0 && o.depth <= o.keep:
		o.text = append(o.text, b)
		o.parts[o.depth] = len(o.text)
	case !isBlank(b) || len(o.text) <= maxOutline:
		o.put(b)
	}
	return depth > 0 && o.depth == 0
}

// put adds a byte of a member to the text, unless there is too much.
func (o *Outline) put(b byte) {
	if o.cut = o.cut || len(o.text) >= maxOutlineText; !o.cut {
		o.text = append(o.text, b)
	}
}

// isFirst reports whether the text ends with the brace or bracket of the innermost object or array.
func (o *Outline) isFirst() bool {
	last := o.text[len(o.text)-1]
	return last == '{' || last == '['
}

// endPart processes the end of a member, or of an object of an array, and removes it if there is
// too much.
func (o *Outline) endPart(depth int) {
	size, most := len(o.text), maxOutlineText
	part := bytes.TrimLeft(o.text[o.parts[depth]:], ", \t\r\n")
	if depth == o.keep {
		if most--; !slices.ContainsFunc(neededMembers, func(name []byte) bool { return bytes.HasPrefix(part, name) }) {
			most = maxOutline
		}
	}
	if o.cut || size > most {
		o.text, o.cut = o.text[:o.parts[depth]], false
	}
}

// neededMembers are the members that identify a message and what it answers.
var neededMembers = [][]byte{[]byte(`"id"`), []byte(`"jsonrpc"`), []byte(`"method"`)}
