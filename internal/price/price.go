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

// CodeBadPrice is the code of diagnostics about prices that are none and entries that name no model.
const CodeBadPrice = "bad-price"

// maxPrice bounds a price for a million tokens, in USD: more is a slip of the pen.
const maxPrice = 1_000_000

//go:embed models.yaml
var embedded []byte

// Table is facts by model. The zero Table knows none. Safe for concurrent use.
type Table struct {
	// AsOf and Source say when and where the prices were read, in the file's own words; "" where it does not tell.
	AsOf, Source string
	replaces     bool
	entries      []entry
}

type entry struct {
	patterns []string
	// rate counts where priced; a row of the embedded table may have other facts alone.
	rate   chat.Rate
	priced bool
	// window is the size of the context window in tokens, 0: not known. retirement: nil where no date is known.
	window     int
	retirement *Retirement
}

// Default is the table that comes with Hocket.
var Default = sync.OnceValue(func() *Table {
	t, problems := parse("models.yaml", embedded, true)
	if problems.HasErrors() {
		return &Table{} // a test keeps the file readable
	}
	return t
})

// Parse reads a file of prices, YAML or JSON (docs/budgets.md). file is the name that problems carry. The Table holds what could be read; it is fit
// for use only where the list has no errors.
func Parse(file string, data []byte) (*Table, diag.List) { return parse(file, data, false) }

// parse reads a table. known says that it is the one that comes with Hocket: rows have facts beside prices, and may have no price.
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
				diags.Errorf(f.Node().Span, f.Node().Path(), CodeBadPrice, "%q does not name a provider", p).Hint = "write provider/model, such as openai/gpt-6.1-terra, where * matches any text"
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
				diags.Errorf(long.Node().Span, long.Node().Path(), CodeBadPrice, "over is a number of input tokens above 0")
			}
			e.rate.LongOver = over
			e.rate.Long = &chat.Tier{Input: rate.Input, Output: rate.Output, Cached: rate.Cached, CacheWrite: rate.CacheWrite, Reasoning: rate.Reasoning}
			long.Unknown(diag.Error)
		}
		f.Unknown(diag.Error)
		t.entries = append(t.entries, e)
	}
	top.Unknown(diag.Error)
	return t, diags
}

// readRate reads prices of one million tokens.
func readRate(f *source.Fields, diags *diag.List) chat.Rate {
	var r chat.Rate
	f.Require("input")
	f.Require("output")
	r.Input, r.Output = orZero(readPrice(f, "input", diags)), orZero(readPrice(f, "output", diags))
	r.Cached, r.CacheWrite, r.Reasoning = readPrice(f, "cachedInput", diags), readPrice(f, "cacheWrite", diags), readPrice(f, "reasoning", diags)
	return r
}

func orZero(m *chat.Money) chat.Money {
	if m == nil {
		return 0
	}
	return *m
}

// readPrice gives the price of one token, nil where the key is absent or wrong.
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

// Over gives a table that asks t first and below then. A file that says `replace: true` leaves below out. A nil t is below.
func (t *Table) Over(below *Table) *Table {
	switch {
	case t == nil:
		return below
	case t.replaces || below == nil:
		return t
	}
	return &Table{AsOf: t.AsOf, Source: t.Source, entries: slices.Concat(t.entries, below.entries)}
}

// Models gives the references whose prices the table names, without those that end in a pattern of several.
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

// Rate gives the rate of the model that ref names in full (`provider/model`). False: it is unknown. A nil Table knows none.
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

// Cost gives what a call of a model cost in USD; nil where its price is not known. It is a driver's RunResources.Price.
func (t *Table) Cost(ref string, u chat.Usage) *float64 {
	r, ok := t.Rate(ref)
	if !ok {
		return nil
	}
	return new(r.Cost(u).USD())
}

// names tells whether the row is of the model that ref names, in lower case.
func (e *entry) names(ref string) bool {
	return slices.ContainsFunc(e.patterns, func(p string) bool { return matches(p, ref) })
}

// matches tells whether s is p, where each * of p stands for any text, slashes included.
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
