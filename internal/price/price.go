package price

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/format/source"
)

// CodeBadPrice is the code of diagnostics about invalid prices and entries that name no model.
const CodeBadPrice = "bad-price"

// maxPrice is the maximum price for a million tokens, in USD: a larger value is a mistake.
const maxPrice = 1_000_000

//go:embed models.yaml
var embedded []byte

// Table holds facts by model. The zero Table is empty. It is safe for concurrent use.
type Table struct {
	// AsOf and Source are when and from where the prices were read, in the file's own words, or ""
	// if it does not say.
	AsOf, Source string
	replaces     bool
	entries      []entry
}

type entry struct {
	patterns []string
	// rate is valid if priced is set; a row of the embedded table may have only other facts.
	rate   chat.Rate
	priced bool
	// window is the size of the context window in tokens; 0 means unknown. retirement is nil if no
	// date is known.
	window     int
	retirement *Retirement
}

// Default returns the table embedded in Hocket.
var Default = sync.OnceValue(func() *Table {
	t, problems := parse("models.yaml", embedded, true)
	if problems.HasErrors() {
		return &Table{} // a test ensures that the file is readable
	}
	return t
})

// Parse parses a file of prices, YAML or JSON (docs/budgets.md). file is the name used in
// diagnostics. The Table holds what could be read; use it only if the list has no errors.
func Parse(file string, data []byte) (*Table, diag.List) { return parse(file, data, false) }

// parse parses a table. known reports whether it is the embedded table: its rows have facts other
// than prices, and may have no price.
func parse(file string, data []byte, known bool) (*Table, diag.List) {
	root, diags := source.Parse(file, data)
	t := &Table{}
	top := root.Fields(&diags)
	if top == nil {
		return t, diags
	}
	t.AsOf, t.Source = top.Text("asOf"), top.Text("source")
	t.replaces, _ = top.Bool("replace")
	items, _ := top.RequireList("prices")
	for _, item := range items {
		f := item.Fields(&diags)
		if f == nil {
			continue
		}
		e := entry{priced: !known || !f.Node().Get("input").IsNull() || !f.Node().Get("output").IsNull()}
		if e.priced {
			e.rate = readRate(f, &diags)
		}
		if known {
			e.readFacts(f, &diags)
		}
		for _, p := range f.Strs("models") {
			if p = strings.ToLower(strings.TrimSpace(p)); p == "" || !strings.Contains(p, "/") {
				diags.Errorf(f.Node().Span, f.Node().Path(), CodeBadPrice, "%q does not name a provider",
					p).Hint = "write provider/model, such as openai/gpt-6.1-terra, where * matches any text"
				continue
			}
			e.patterns = append(e.patterns, p)
		}
		if f.Node().Get("models").IsNull() {
			f.RequireList("models")
		}
		if long := f.Map("long"); long != nil {
			over, _ := long.Int("over")
			rate := readRate(long, &diags)
			if over <= 0 {
				diags.Errorf(long.Node().Span, long.Node().Path(), CodeBadPrice,
					"over is a number of input tokens above 0")
			}
			e.rate.LongOver = over
			e.rate.Long = &chat.Tier{Input: rate.Input, Output: rate.Output, Cached: rate.Cached,
				CacheWrite: rate.CacheWrite, Reasoning: rate.Reasoning}
			long.Unknown(diag.Error)
		}
		f.Unknown(diag.Error)
		t.entries = append(t.entries, e)
	}
	top.Unknown(diag.Error)
	return t, diags
}

// readRate reads prices per million tokens.
func readRate(f *source.Fields, diags *diag.List) chat.Rate {
	var r chat.Rate
	f.Require("input")
	f.Require("output")
	r.Input, r.Output = orZero(readPrice(f, "input", diags)), orZero(readPrice(f, "output", diags))
	r.Cached, r.CacheWrite, r.Reasoning = readPrice(f, "cachedInput", diags), readPrice(f, "cacheWrite", diags),
		readPrice(f, "reasoning", diags)
	return r
}

func orZero(m *chat.Money) chat.Money {
	if m == nil {
		return 0
	}
	return *m
}

// readPrice returns the price of one token, or nil if the key is absent or invalid.
func readPrice(f *source.Fields, key string, diags *diag.List) *chat.Money {
	usd, ok := f.Float(key)
	if !ok {
		return nil
	}
	n := f.Node().Get(key)
	millionths := math.Round(usd * 1e6)
	switch {
	case usd < 0 || usd > maxPrice:
		diags.Errorf(n.Span, n.Path(), CodeBadPrice, "%s is USD for a million tokens, from 0 to %d", key, maxPrice)
		return nil
	case math.Abs(usd*1e6-millionths) > 1e-3:
		diags.Errorf(n.Span, n.Path(), CodeBadPrice, "%s has more than six decimals", key)
		return nil
	}
	return new(chat.Money(millionths))
}

// Over returns a table that consults t first and below second. A file with `replace: true` leaves
// out below. If t is nil, Over returns below.
func (t *Table) Over(below *Table) *Table {
	switch {
	case t == nil:
		return below
	case t.replaces || below == nil:
		return t
	}
	return &Table{AsOf: t.AsOf, Source: t.Source, entries: slices.Concat(t.entries, below.entries)}
}

// Models returns the references whose prices the table names, without those that end in a wildcard.
func (t *Table) Models() []string {
	var out []string
	if t == nil {
		return nil
	}
	for i := range t.entries {
		if !t.entries[i].priced {
			continue
		}
		for _, m := range t.entries[i].patterns {
			if m = strings.TrimSuffix(m, "*"); !strings.Contains(m, "*") && !strings.HasSuffix(m, "/") {
				out = append(out, strings.TrimRight(m, "-"))
			}
		}
	}
	return out
}

// Rate returns the rate of the model that ref names in full (`provider/model`), and reports whether
// it is known. A nil Table is empty.
func (t *Table) Rate(ref string) (chat.Rate, bool) {
	if t == nil {
		return chat.Rate{}, false
	}
	ref = strings.ToLower(ref)
	for i := range t.entries {
		if e := &t.entries[i]; e.priced && e.names(ref) {
			return e.rate, true
		}
	}
	return chat.Rate{}, false
}

// Cost returns the cost of a model call in USD, or nil if the price is unknown. It is a driver's
// RunResources.Price.
func (t *Table) Cost(ref string, u chat.Usage) *float64 {
	r, ok := t.Rate(ref)
	if !ok {
		return nil
	}
	return new(r.Cost(u).USD())
}

// names reports whether the row applies to the model that ref names, in lower case.
func (e *entry) names(ref string) bool {
	return slices.ContainsFunc(e.patterns, func(p string) bool { return matches(p, ref) })
}

// matches reports whether s matches p, in which each * stands for any string, slashes included.
func matches(p, s string) bool {
	parts := strings.Split(p, "*")
	if len(parts) == 1 {
		return p == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}
