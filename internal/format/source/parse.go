package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/hocket-run/hocket/diag"
)

// Default limits of a document.
const (
	DefaultMaxBytes    = 8 << 20 // 8 MiB
	DefaultMaxDepth    = 200     // nesting depth of maps and lists, aliases included
	DefaultMaxValues   = 200_000 // values in the tree, aliases expanded
	DefaultMaxProblems = 100     // problems reported by Parse and by the accessors of one document
)

// Codes of this package's diagnostics.
const (
	CodeTooLarge       = "document-too-large"
	CodeTooDeep        = "document-too-deep"
	CodeTooManyValues  = "too-many-values"
	CodeTooMany        = "too-many-problems"
	CodeEncoding       = "bad-encoding"
	CodeSyntax         = "syntax"
	CodeEmpty          = "empty-document"
	CodeDocuments      = "multiple-documents"
	CodeDuplicateKey   = "duplicate-key"
	CodeBadKey         = "bad-key"
	CodeBadAlias       = "bad-alias"
	CodeBadMerge       = "bad-merge"
	CodeUnknownTag     = "unknown-tag"
	CodeNotJSON        = "not-json"
	CodeNumberSpelling = "number-spelling"
	CodeWrongType      = "wrong-type"
	CodeMissingKey     = "missing-key"
	CodeUnknownKey     = "unknown-key"
)

// Options are limits of a document. Zero fields mean the defaults; the zero Options is ready for
// use.
type Options struct {
	MaxBytes    int
	MaxDepth    int
	MaxValues   int
	MaxProblems int
}

func (o Options) withDefaults() Options {
	set := func(field *int, value int) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&o.MaxBytes, DefaultMaxBytes)
	set(&o.MaxDepth, DefaultMaxDepth)
	set(&o.MaxValues, DefaultMaxValues)
	set(&o.MaxProblems, DefaultMaxProblems)
	return o
}

// Parse reads one document with the default limits. file is the name used in spans. Parse does not
// modify data, but Node keeps it.
func Parse(file string, data []byte) (*Node, diag.List) {
	return Options{}.Parse(file, data)
}

// Parse reads one document: JSON if its first character is `{` or `[`, YAML otherwise. A file named
// as YAML (.yaml, .yml) that is not valid JSON is YAML whatever its first character, which may
// begin a map in flow style. A byte order mark and CRLF line endings are accepted.
//
// The Node is nil if nothing could be read. A syntax error ends reading; all other problems
// (duplicate keys, keys that are not strings) are collected, up to MaxProblems. Every error about a
// limit names the limit.
func (o Options) Parse(file string, data []byte) (*Node, diag.List) {
	o = o.withDefaults()
	p := &parser{opts: o, diags: new(diag.List)}
	if len(data) > o.MaxBytes {
		p.diags.Errorf(diag.Span{File: file}, "", CodeTooLarge, "the document has %d bytes; the limit is %d", len(data),
			o.MaxBytes)
		return nil, *p.diags
	}
	p.file = newFile(file, data)
	if at, found := notUTF8(data); found {
		p.errorAt(at, at+1, CodeEncoding, "the byte 0x%02X is not UTF-8", data[at]).Hint = "save the file as UTF-8"
		return nil, *p.diags
	}
	first := bytes.TrimLeft(p.file.text(), " \t\r\n")
	var root *Node
	switch {
	case len(first) == 0:
		p.empty()
	case (first[0] == '{' || first[0] == '[') && (!isNamedYAML(file) || json.Valid(first)):
		root = p.json()
	default:
		root = p.yaml()
	}
	return root, *p.diags
}

// isNamedYAML reports whether the extension of a file is one of YAML.
func isNamedYAML(file string) bool {
	ext := strings.ToLower(path.Ext(file))
	return ext == ".yaml" || ext == ".yml"
}

// parser holds the state of one Parse.
type parser struct {
	opts   Options
	file   *file
	diags  *diag.List
	values int
	// textBytes counts the bytes of texts and keys, aliases expanded.
	textBytes int
	failed    bool // a limit or syntax error has ended reading
}

func (p *parser) empty() {
	p.errorAt(0, 0, CodeEmpty, "the document is empty")
}

// errorAt adds an error for the bytes from start to end. Beyond MaxProblems it returns a diagnostic
// that is discarded.
func (p *parser) errorAt(start, end int, code, format string, args ...any) *diag.Diagnostic {
	return p.error(p.file.span(start, end), "", code, format, args...)
}

func (p *parser) error(span diag.Span, path, code, format string, args ...any) *diag.Diagnostic {
	return addError(p.diags, p.opts.MaxProblems, diag.Error, span, path, code, fmt.Sprintf(format, args...))
}

// addError adds a diagnostic unless the list is full; the last one that fits says that there are
// more.
func addError(list *diag.List, most int, sev diag.Severity, span diag.Span, path, code,
	message string) *diag.Diagnostic {
	d := diag.Diagnostic{Code: code, Severity: sev, Span: span, Path: path, Message: message}
	switch n := len(*list); {
	case n >= most:
		return &d
	case n == most-1:
		d = diag.Diagnostic{Code: CodeTooMany, Severity: diag.Error, Span: span,
			Message: fmt.Sprintf("there are %d problems or more; only the first %d are shown", most, most-1)}
		list.Add(d)
		return &d
	}
	list.Add(d)
	return &(*list)[len(*list)-1]
}

// enter counts a value at a depth and reports whether the limits allow it.
func (p *parser) enter(depth, start int) bool {
	if p.failed {
		return false
	}
	p.values++
	switch {
	case p.values > p.opts.MaxValues:
		p.errorAt(start, start, CodeTooManyValues,
			"the document has more than %d values, aliases expanded; that is the limit", p.opts.MaxValues)
	case depth > p.opts.MaxDepth:
		p.tooDeep(start)
	default:
		return true
	}
	p.failed = true
	return false
}

// enterText counts the bytes of a text or key and reports whether the limit allows them. Without
// aliases a document has fewer than the limit, which it was checked against as a whole.
func (p *parser) enterText(size, start int) bool {
	p.textBytes += size
	if p.failed || p.textBytes <= p.opts.MaxBytes {
		return !p.failed
	}
	p.errorAt(start, start, CodeTooLarge,
		"the texts of the document have more than %d bytes, aliases expanded; that is the limit", p.opts.MaxBytes)
	p.failed = true
	return false
}

func (p *parser) tooDeep(at int) {
	p.errorAt(at, at, CodeTooDeep, "maps and lists are nested more than %d deep; that is the limit", p.opts.MaxDepth)
}

// duplicate reports a duplicate key, with both positions.
func (p *parser) duplicate(key string, second, first diag.Span, path string) {
	d := p.error(second, path, CodeDuplicateKey, "duplicate key %q", key)
	Twice(d, first, "of the two")
}
