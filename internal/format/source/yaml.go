package source

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/hocket-run/hocket/diag"
)

// yaml reads the text as one YAML document. The library creates nodes; this package expands aliases
// and merge keys itself, so that it can count the resulting values.
func (p *parser) yaml() *Node {
	text := p.file.text()
	if at := controlCharacter(text); at >= 0 {
		p.errorAt(at+p.file.bom, at+p.file.bom+1, CodeEncoding, "the character U+%04X is not allowed in a document",
			[]rune(string(text[at:min(at+4, len(text))]))[0])
		return nil
	}
	r := &yamlReader{parser: p, lines: yamlLines(text), open: map[*yaml.Node]bool{}}
	limits := loaderlimits.New(loaderlimits.DepthValue(p.opts.MaxDepth), loaderlimits.AliasNone())
	loader, err := yaml.NewLoader(bytes.NewReader(text), yaml.WithPlugin(limits))
	if err != nil {
		p.errorAt(0, 0, CodeSyntax, "%s", err)
		return nil
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		p.empty()
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		r.errorNode(&second, CodeDocuments, "a second document begins here").Hint = "a file holds one document; " +
			"remove the line ---"
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	top := &doc
	if doc.Kind == yaml.DocumentNode {
		if len(doc.Content) == 0 {
			p.empty()
			return nil
		}
		top = doc.Content[0]
	}
	if top.Kind == yaml.ScalarNode && top.Value == "" && top.ShortTag() == "!!null" {
		p.empty()
		return nil
	}
	return r.value(top, nil, "", 0, 1)
}

// controlCharacter returns the offset of the first character that YAML does not allow, or -1 if
// there is none.
func controlCharacter(text []byte) int {
	for i, c := range string(text) {
		switch {
		case c == '\t' || c == '\n' || c == '\r' || c == 0x85:
		case c < 0x20, c >= 0x7f && c < 0xa0, c == 0xfeff, c == 0xfffe, c == 0xffff:
			return i
		}
	}
	return -1
}

// yamlLines returns the offsets of line starts according to YAML, which also breaks lines at
// U+0085, U+2028 and U+2029. The library counts that way; people do not.
func yamlLines(text []byte) []int {
	lines := []int{0}
	for i := range text {
		rest := text[i:]
		switch b := text[i]; {
		case b == '\n', b == '\r' && (len(rest) == 1 || rest[1] != '\n'):
			lines = append(lines, i+1)
		case b == 0xc2 && len(rest) > 1 && rest[1] == 0x85:
			lines = append(lines, i+2)
		case b == 0xe2 && len(rest) > 2 && rest[1] == 0x80 && (rest[2] == 0xa8 || rest[2] == 0xa9):
			lines = append(lines, i+3)
		}
	}
	return lines
}

// yamlReader builds the tree from the library's nodes.
type yamlReader struct {
	*parser
	lines []int               // line starts in the text, as defined by YAML
	open  map[*yaml.Node]bool // anchors whose aliases are being expanded
}

// offset converts the library's line and column, both from 1, columns in runes, to an offset in the
// file.
func (r *yamlReader) offset(line, column int) int {
	if line < 1 {
		return r.file.bom
	}
	if line > len(r.lines) {
		return len(r.file.data)
	}
	start := r.lines[line-1] + r.file.bom
	return r.file.offsetOfRune(r.file.runesBefore(start) + max(column-1, 0))
}

func (r *yamlReader) errorNode(n *yaml.Node, code, format string, args ...any) *diag.Diagnostic {
	at := r.offset(n.Line, n.Column)
	return r.errorAt(at, at, code, format, args...)
}

// value reads one value. It returns nil if a limit was reached or the value cannot be represented.
func (r *yamlReader) value(y *yaml.Node, parent *Node, key string, index, depth int) *Node {
	start := r.offset(y.Line, y.Column)
	if y.Kind == yaml.AliasNode {
		target := y.Alias
		if target == nil || r.open[target] {
			r.errorAt(start, start+1+len(y.Value), CodeBadAlias, "the alias *%s is inside its own anchor", y.Value)
			return nil
		}
		r.open[target] = true
		defer delete(r.open, target)
		return r.value(target, parent, key, index, depth)
	}
	if !r.enter(depth, start) {
		return nil
	}
	if y.Anchor != "" {
		if !r.open[y] { // otherwise an alias led here and closes it
			r.open[y] = true
			defer delete(r.open, y)
		}
	}
	n := &Node{file: r.file, parent: parent, key: key, index: index}
	switch y.Kind {
	case yaml.SequenceNode:
		n.Kind = List
		for _, item := range y.Content {
			if v := r.value(item, n, "", len(n.Items), depth+1); v != nil {
				n.Items = append(n.Items, v)
			}
		}
	case yaml.MappingNode:
		n.Kind = Map
		r.entries(y, n, depth)
	default:
		if !r.enterText(len(y.Value), start) {
			return nil
		}
		r.scalar(y, n, start)
	}
	n.Span = r.file.span(start, r.end(y, n, start))
	return n
}

// entries reads the keys of a map, its own first, then those of `<<`.
func (r *yamlReader) entries(y *yaml.Node, n *Node, depth int) {
	first := map[string]int{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content) && !r.failed; i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.AliasNode && k.Alias != nil {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			r.badKey(y, k, n)
			continue
		}
		if k.ShortTag() == "!!merge" {
			merges = append(merges, v)
			continue
		}
		at := r.offset(y.Content[i].Line, y.Content[i].Column)
		if !r.enterText(len(k.Value), at) {
			return
		}
		span := r.file.span(at, r.scalarEnd(y.Content[i], at))
		value := r.value(v, n, k.Value, 0, depth+1)
		if j, twice := first[k.Value]; twice {
			r.duplicate(k.Value, span, n.Entries[j].KeySpan, n.pathOf(k.Value))
			continue
		}
		if value != nil {
			first[k.Value] = len(n.Entries)
			n.Entries = append(n.Entries, Entry{Key: k.Value, KeySpan: span, Value: value})
		}
	}
	for _, m := range merges {
		r.merge(m, n, first, depth)
	}
}

// badKey reports a key that is a map or a list, as in `id: {{ x }}`.
func (r *yamlReader) badKey(y, k *yaml.Node, n *Node) {
	if y.Style&yaml.FlowStyle != 0 && k.Kind == yaml.MappingNode && k.Style&yaml.FlowStyle != 0 {
		d := r.errorNode(y, CodeBadKey, "{{ begins a map in YAML, not a template")
		d.Path, d.Hint = n.Path(), `put the whole value in quotes: "{{ … }}"`
		return
	}
	d := r.errorNode(k, CodeBadKey, "a key must be text, not %s",
		map[bool]string{true: "a map", false: "a list"}[k.Kind == yaml.MappingNode])
	d.Path = n.Path()
}

// merge adds the entries of `<<: value` that n does not have. The value is a map or a list of maps,
// of which earlier ones take precedence.
func (r *yamlReader) merge(m *yaml.Node, n *Node, have map[string]int, depth int) {
	v := r.value(m, n, "<<", 0, depth+1)
	if v == nil {
		return
	}
	maps := []*Node{v}
	if v.Kind == List {
		maps = v.Items
	}
	for _, from := range maps {
		if from.Kind != Map {
			d := r.errorNode(m, CodeBadMerge, "<< takes a map or a list of maps, not %s", from.Kind)
			d.Path = n.Path()
			return
		}
		for _, e := range from.Entries {
			if _, ok := have[e.Key]; ok {
				continue
			}
			have[e.Key] = len(n.Entries)
			e.Value.parent = n
			n.Entries = append(n.Entries, e)
		}
	}
}

// scalar fills n from a scalar node.
func (r *yamlReader) scalar(y *yaml.Node, n *Node, start int) {
	switch tag := y.ShortTag(); tag {
	case "!!null":
		n.Kind = Null
	case "!!str", "!!timestamp", "!!merge", "!": // a date is a string here, and so is an unquoted << as a value
		n.Kind, n.Text = String, y.Value
	case "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
		if n.Text != "true" && n.Text != "false" { // an explicit !!bool
			n.Kind, n.Text = String, y.Value
			r.errorAt(start, start, CodeUnknownTag, "%q is neither true nor false", y.Value)
		}
	case "!!int", "!!float":
		if leadingZero.MatchString(y.Value) && y.Style&yaml.TaggedStyle == 0 {
			n.Kind, n.Text = String, y.Value
			return
		}
		r.number(y, n, start)
		if n.Kind != String && (y.Value[0] == '+' || strings.ContainsAny(y.Value, "_xXoObB")) {
			d := addError(r.diags, r.opts.MaxProblems, diag.Warning, r.file.span(start, start+len(y.Value)), n.Path(),
				CodeNumberSpelling, y.Value+" is read as the number "+n.Text)
			d.Hint = "quote it if it is text, or write " + n.Text
		}
	default:
		n.Kind, n.Text = String, y.Value
		d := r.errorAt(start, start, CodeUnknownTag, "the tag %s is not known", tag)
		d.Path, d.Hint = n.Path(), "remove it; quote the value if it is text"
	}
}

// leadingZero matches numbers that people write as text: postal codes, numbers of telephones and of
// articles. YAML 1.1 reads them as octal, YAML 1.2 as decimal.
var leadingZero = regexp.MustCompile(`^[-+]?0[0-9_]`)

// number sets n to a JSON number: plain decimal digits unchanged, other spellings (0x1F, 1_000, .5)
// as their value.
func (r *yamlReader) number(y *yaml.Node, n *Node, start int) {
	text := strings.TrimPrefix(y.Value, "+")
	if json.Valid([]byte(text)) {
		n.Kind, n.Text = Int, text
		if strings.ContainsAny(text, ".eE") {
			n.Kind = Float
		}
		return
	}
	var v any
	if err := y.Decode(&v); err == nil {
		switch v := v.(type) {
		case int:
			n.Kind, n.Text = Int, strconv.Itoa(v)
			return
		case int64:
			n.Kind, n.Text = Int, strconv.FormatInt(v, 10)
			return
		case uint64:
			n.Kind, n.Text = Int, strconv.FormatUint(v, 10)
			return
		case float64:
			if text := strconv.FormatFloat(v, 'g', -1, 64); json.Valid([]byte(text)) {
				n.Kind, n.Text = Float, text
				return
			}
		}
	}
	n.Kind, n.Text = String, y.Value
	d := r.errorAt(start, start+len(y.Value), CodeNotJSON, "%s is not a JSON number", y.Value)
	d.Path, d.Hint = n.Path(), "quote it if it is text"
}

// end finds the end of a value; it returns start if the end is unknown. It searches the text, since
// the library does not record ends.
func (r *yamlReader) end(y *yaml.Node, n *Node, start int) int {
	if y.Kind == yaml.ScalarNode {
		return r.scalarEnd(y, start)
	}
	last := start
	for _, item := range n.Items {
		last = max(last, item.Span.End.Offset)
	}
	for _, e := range n.Entries {
		last = max(last, e.Value.Span.End.Offset, e.KeySpan.End.Offset)
	}
	return last
}

// scalarEnd finds the end of a scalar in one piece: plain on one line, or quoted. Block scalars end
// where their text ends.
func (r *yamlReader) scalarEnd(y *yaml.Node, start int) int {
	rest := r.file.data[min(start, len(r.file.data)):]
	switch {
	case y.Kind != yaml.ScalarNode:
		return start
	case y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return start + quotedEnd(rest)
	case bytes.HasPrefix(rest, []byte(y.Value)):
		return start + len(y.Value)
	}
	return start
}

// quotedEnd returns the length of the quoted text at the start of rest, or 0 if there is none.
func quotedEnd(rest []byte) int {
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return 0
	}
	quote := rest[0]
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\' && quote == '"':
			i++
		case rest[i] == quote && quote == '\'' && i+1 < len(rest) && rest[i+1] == quote:
			i++
		case rest[i] == quote:
			return i + 1
		}
	}
	return 0
}

// syntax converts an error of the library to a diagnostic.
func (r *yamlReader) syntax(err error) {
	r.failed = true
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.errorAt(0, 0, CodeSyntax, "%s", err)
		return
	}
	mark := load.Mark
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	at := r.offset(mark.Line, mark.Column)
	if strings.HasPrefix(load.Message, "exceeded max depth") {
		r.tooDeep(at)
		return
	}
	message, hint := r.explain(load.Message, at)
	d := r.errorAt(at, at, CodeSyntax, "%s", message)
	d.Hint = hint
	if load.ContextMsg != "" && load.ContextMark.Line > 0 && load.ContextMark != load.Mark {
		from := r.offset(load.ContextMark.Line, load.ContextMark.Column)
		d.Related = []diag.Related{{Span: r.file.span(from, from), Message: load.ContextMsg}}
	}
}

// explain rewords the library's messages for people who do not know its scanner.
func (r *yamlReader) explain(message string, at int) (text, hint string) {
	line := r.file.lines[r.file.pos(at).Line-1]
	before := r.file.data[line:at]
	whole := r.file.data[line:]
	if n := bytes.IndexAny(whole, "\r\n"); n >= 0 {
		whole = whole[:n]
	}
	var here byte
	if at < len(r.file.data) {
		here = r.file.data[at]
	}
	switch {
	case bytes.Contains(whole, []byte(": {{")) || bytes.Contains(whole, []byte("- {{")):
		return message, `put a value that begins with {{ in quotes: "{{ … }}"`
	case here == '\t' && len(bytes.TrimSpace(before)) == 0:
		return "tabs are not allowed for indentation", "indent with spaces"
	case strings.Contains(message, "cannot start any token"):
		return "a value cannot begin with " + strconv.QuoteRune(rune(here)), "put the value in quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		return "a colon is not allowed here", "put a text that holds `: ` in quotes, or check the indentation"
	case strings.Contains(message, "unexpected end of stream"):
		return "the text ends inside quotes", ""
	case strings.Contains(message, "could not find expected ':'"):
		return "a key without a colon", "check the indentation, or write key: value"
	case strings.Contains(message, "unknown anchor"):
		return strings.Replace(strings.TrimSuffix(message, " referenced"), "unknown anchor", "there is no anchor", 1),
			"define the anchor &name before its alias *name"
	case strings.Contains(message, "did not find expected key"),
		strings.Contains(message, "did not find expected '-' indicator"):
		return "the indentation does not match the lines above", ""
	}
	return message, ""
}
