package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// json reads the text as strict JSON. The syntax of the whole text is checked first, with the same
// decoder whose tokens the tree is then built from, because that yields the one correct position of
// an error; nesting is limited beforehand, so that neither pass recurses deeply.
func (p *parser) json() *Node {
	text := p.file.text()
	if at := deeperThan(text, p.opts.MaxDepth); at >= 0 {
		p.tooDeep(at + p.file.bom)
		return nil
	}
	var syntax *json.SyntaxError
	if err := json.Unmarshal(text, new(json.RawMessage)); errors.As(err, &syntax) {
		p.jsonError(text, syntax)
		return nil
	}
	r := &jsonReader{parser: p, text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	root := r.value(nil, "", 0, 1)
	return root
}

// deeperThan returns the offset of the first bracket that exceeds the depth, or -1 if there is
// none. Strings are skipped.
func deeperThan(text []byte, depth int) int {
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			if level++; level > depth {
				return i
			}
		case b == '}' || b == ']':
			level--
		}
	}
	return -1
}

func (p *parser) jsonError(text []byte, err *json.SyntaxError) {
	at := min(max(int(err.Offset)-1, 0), len(text))
	message := err.Error()
	if strings.HasPrefix(message, "unexpected end") {
		at, message = len(bytes.TrimRight(text, " \t\r\n")), "the JSON text ends too early"
	}
	d := p.errorAt(at+p.file.bom, at+p.file.bom, CodeSyntax, "%s", message)
	if at >= len(text) {
		return
	}
	before := bytes.TrimRight(text[:at], " \t\r\n")
	switch c := text[at]; {
	case (c == '}' || c == ']') && bytes.HasSuffix(before, []byte(",")):
		d.Hint = "remove the comma before it"
	case c == '\'':
		d.Hint = "JSON text needs double quotes"
	case c == '/' || c == '#':
		d.Hint = "JSON has no comments; YAML has"
	case (c == '\n' || c == '\r' || c == '\t') && strings.Contains(message, "string literal"):
		d.Hint = `inside quotes, write \n for a line break and \t for a tab`
	case strings.Contains(message, "after object key:value pair"), strings.Contains(message, "after array element"):
		d.Hint = "a comma is missing before it"
	case strings.Contains(message, "after top-level value"):
		d.Hint = "a document is one value"
	case strings.Contains(message, "looking for beginning of object key"):
		d.Hint = "keys need double quotes"
	}
}

// jsonReader builds the tree from tokens. Offsets are into text; the text is known to be valid.
type jsonReader struct {
	*parser
	text []byte
	dec  *json.Decoder
}

// next returns the next token with its start and end.
func (r *jsonReader) next() (tok json.Token, start, end int) {
	start = int(r.dec.InputOffset())
	for start < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[start]) >= 0 {
		start++
	}
	tok, err := r.dec.Token()
	if err != nil { // the syntax was checked, so only the end of the text is left
		r.failed = true
	}
	return tok, start, int(r.dec.InputOffset())
}

// value reads one value. It returns nil if a limit was reached.
func (r *jsonReader) value(parent *Node, key string, index, depth int) *Node {
	tok, start, end := r.next()
	if !r.enter(depth, start+r.file.bom) {
		return nil
	}
	n := &Node{file: r.file, parent: parent, key: key, index: index}
	switch tok := tok.(type) {
	case nil:
		n.Kind = Null
	case bool:
		n.Kind, n.Text = Bool, string(r.text[start:end])
	case json.Number:
		n.Kind, n.Text = Int, tok.String()
		if strings.ContainsAny(n.Text, ".eE") {
			n.Kind = Float
		}
	case string:
		n.Kind, n.Text = String, tok
	case json.Delim:
		n.Kind = List
		if tok == '{' {
			n.Kind = Map
		}
		end = r.elements(n, depth)
	}
	n.Span = r.file.span(start+r.file.bom, end+r.file.bom)
	return n
}

// elements reads the elements of a list or a map up to its closing bracket and returns the offset
// after that.
func (r *jsonReader) elements(n *Node, depth int) int {
	first := map[string]int{}
	for r.dec.More() && !r.failed {
		if n.Kind == List {
			if item := r.value(n, "", len(n.Items), depth+1); item != nil {
				n.Items = append(n.Items, item)
			}
			continue
		}
		tok, start, end := r.next()
		key, _ := tok.(string)
		span := r.file.span(start+r.file.bom, end+r.file.bom)
		value := r.value(n, key, 0, depth+1)
		if i, twice := first[key]; twice {
			r.duplicate(key, span, n.Entries[i].KeySpan, n.pathOf(key))
			continue
		}
		if value != nil {
			first[key] = len(n.Entries)
			n.Entries = append(n.Entries, Entry{Key: key, KeySpan: span, Value: value})
		}
	}
	if r.failed {
		return 0
	}
	_, _, end := r.next()
	return end
}

// pathOf returns the path of a key of n.
func (n *Node) pathOf(key string) string {
	path := n.Path()
	return path + joinPath(path != "", key)
}
