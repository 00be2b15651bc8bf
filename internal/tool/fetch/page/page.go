package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

// Reader implements fetch.Pages. The zero value is ready to use. A Reader is safe for concurrent
// use.
type Reader struct{}

// Decode returns body as UTF-8, without a byte order mark. The character set comes from the byte
// order mark, the charset of contentType, or the declaration in HTML or XML. Without any of them,
// text is UTF-8, or Windows-1252 if it is not valid UTF-8. JSON is UTF-8 whatever contentType says,
// if it can be (RFC 8259). Remaining invalid bytes are replaced.
func (Reader) Decode(body []byte, contentType string) string {
	media, params, _ := strings.Cut(strings.ToLower(contentType), ";")
	media = strings.TrimSpace(media)
	head := body[:min(len(body), 1024)]
	if m := xmlEncoding.FindSubmatch(head); m != nil && strings.HasSuffix(media, "xml") && params == "" {
		contentType = media + "; charset=" + string(m[1])
	}
	if !strings.Contains(media, "html") {
		head = body[:min(len(body), 3)] // enough for a byte order mark
	}
	isJSON := strings.HasSuffix(media, "json") && bytes.IndexByte(body, 0) < 0
	enc, name, certain := charset.DetermineEncoding(head, contentType)
	// Windows-1252, if it is not certain, stands for the lack of a declaration.
	if !isUTF8(body) || !isJSON && (certain || name != "windows-1252") {
		if text, err := enc.NewDecoder().Bytes(body); err == nil {
			body = text
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(body), "\uFEFF"), "\uFFFD")
}

// xmlEncoding matches the declaration at the start of an XML text.
var xmlEncoding = regexp.MustCompile(`^<\?xml [^>]*encoding=["']([A-Za-z0-9._-]+)["']`)

// isUTF8 reports whether text is UTF-8. A character that is cut off at the end is one of UTF-8 if
// there is another one before it.
func isUTF8(text []byte) bool {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return utf8.Valid(text[:i]) && utf8.RuneCount(text[:i]) < i
			}
			break
		}
	}
	return utf8.Valid(text)
}

// Markdown returns the content of a page as Markdown, with relative links resolved against address.
// It stops when ctx is done.
func (Reader) Markdown(ctx context.Context, source, address string) (string, error) {
	return convert(ctx, source, func(doc *html.Node) (string, error) {
		// Cells are not padded, because one long cell would make all others in its column as long.
		tables := table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))
		conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
			tables))
		conv.Register.Renderer(func(converter.Context, converter.Writer, *html.Node) converter.RenderStatus {
			if ctx.Err() != nil {
				return converter.RenderSuccess // without the element
			}
			return converter.RenderTryNext
		}, math.MinInt)
		out, err := conv.ConvertNode(doc, converter.WithDomain(address))
		return string(out), err
	})
}

// Text returns the content of a page as plain text, with one line per block. It stops when ctx is
// done.
func (Reader) Text(ctx context.Context, source string) (string, error) {
	return convert(ctx, source, func(doc *html.Node) (string, error) {
		b := textWriter{ctx: ctx}
		b.node(doc, false)
		return tidy(b.out.String()), nil
	})
}

// convert parses a page, strips everything that is not content, and calls write for the rest. It
// prepends the title unless the content already begins with it.
func convert(ctx context.Context, source string, write func(*html.Node) (string, error)) (text string, err error) {
	// The page is untrusted: neither the parser nor the converter may crash the process.
	defer func() {
		if r := recover(); r != nil {
			text, err = "", fmt.Errorf("convert page: %v", r)
		}
	}()
	doc, err := html.Parse(reader{ctx, strings.NewReader(source)})
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		if strings.Contains(err.Error(), "stack of") {
			return "", errors.New("the page is nested too deeply (more than 512 elements)")
		}
		return "", fmt.Errorf("read page: %w", err)
	}
	title := titleOf(doc)
	strip(doc, false)
	if ctx.Err() == nil {
		flatten(doc)
	}
	if ctx.Err() == nil {
		text, err = write(doc)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("convert page: %w", err)
	}
	text = strings.TrimSpace(text)
	if first, _, _ := strings.Cut(strings.TrimLeft(text, "# "), "\n"); title != "" &&
		!strings.EqualFold(strings.TrimSpace(first), title) {
		text = strings.TrimSpace("# " + title + "\n\n" + text)
	}
	return text, nil
}

// maxRead is the number of bytes of a page that are read between checks of the context. Each chunk
// is parsed in one go, in up to 512 steps per byte.
const maxRead = 4096

// reader reads until its context is done.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b[:min(len(b), maxRead)])
}

func titleOf(n *html.Node) string {
	for d := range n.Descendants() {
		if d.DataAtom == atom.Title && d.Namespace == "" && d.FirstChild != nil {
			return strings.Join(strings.Fields(d.FirstChild.Data), " ")
		}
	}
	return ""
}

// strip removes what is not content. The header of an article holds its headline and is kept; the
// header of the page is removed.
func strip(n *html.Node, inArticle bool) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode, c.Type == html.ElementNode && (isNoise(c, inArticle) || isHidden(c)):
			n.RemoveChild(c)
		default:
			strip(c, inArticle || c.DataAtom == atom.Article || c.DataAtom == atom.Main)
		}
		c = next
	}
}

func isNoise(n *html.Node, inArticle bool) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Nav, atom.Aside, atom.Footer, atom.Svg, atom.Noscript, atom.Template,
		atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Head:
		return true
	case atom.Header:
		return !inArticle
	}
	return false
}

var hiding = regexp.MustCompile(`(?i)display\s*:\s*none|visibility\s*:\s*hidden`)

// isHidden reports whether a person does not see the element. Hidden elements are where text meant
// only for machines is placed.
func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			if hiding.MatchString(a.Val) {
				return true
			}
		}
	}
	return false
}

// textWriter writes plain text, collapsing white space as a browser does.
type textWriter struct {
	ctx  context.Context
	out  strings.Builder
	last byte
}

func (b *textWriter) write(s string) {
	if s != "" {
		b.out.WriteString(s)
		b.last = s[len(s)-1]
	}
}

// gap writes s as a separator between two items on the same line.
func (b *textWriter) gap(s string) {
	if b.last != 0 && b.last != '\n' && b.last != ' ' && b.last != '\t' {
		b.write(s)
	}
}

func (b *textWriter) node(n *html.Node, pre bool) {
	switch {
	case b.ctx.Err() != nil:
		return
	case n.Type == html.TextNode && pre:
		b.write(n.Data)
		return
	case n.Type == html.TextNode:
		b.text(n.Data)
		return
	case n.DataAtom == atom.Br:
		b.write("\n")
		return
	case n.DataAtom == atom.Li:
		b.write("\n- ")
	case n.DataAtom == atom.Tr:
		b.write("\n")
	case n.DataAtom == atom.Td, n.DataAtom == atom.Th:
		b.gap("\t")
	case isBlock(n.DataAtom):
		b.write("\n")
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.node(c, pre || n.DataAtom == atom.Pre)
	}
	if isBlock(n.DataAtom) {
		b.write("\n")
	}
}

func (b *textWriter) text(s string) {
	if strings.TrimLeft(s, " \t\r\n") != s {
		b.gap(" ")
	}
	if words := strings.Fields(s); len(words) > 0 {
		b.write(strings.Join(words, " "))
		if strings.TrimRight(s, " \t\r\n") != s {
			b.write(" ")
		}
	}
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.H1, atom.H2, atom.H3, atom.H4,
		atom.H5, atom.H6, atom.Ul, atom.Ol, atom.Table,
		atom.Pre, atom.Blockquote, atom.Dl, atom.Dt, atom.Dd, atom.Figure, atom.Figcaption, atom.Form, atom.Hr,
		atom.Body:
		return true
	}
	return false
}

var blankLines = regexp.MustCompile(`\n{3,}`)

// tidy trims trailing white space from each line and collapses several empty lines into one.
func tidy(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r")
	}
	return strings.TrimSpace(blankLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n"))
}
