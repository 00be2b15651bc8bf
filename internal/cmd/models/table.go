package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	// maxNew is the maximum number of rows that one update adds, and maxFactor the maximum factor
	// by which it changes a price: a person must review anything beyond that.
	maxNew    = 40
	maxFactor = 10
)

// newModelProviders are the providers whose new models become rows.
var newModelProviders = []string{"openai", "anthropic", "google"}

// plainRef matches references that can be written without quotes.
var plainRef = regexp.MustCompile(`^[a-z0-9]+/[a-z0-9][a-z0-9._-]{0,99}$`)

// row is one line of the table. Its fields are in output order.
type row struct {
	Models  []string `yaml:"models"`
	Input   *float64 `yaml:"input"`
	Output  *float64 `yaml:"output"`
	Cached  *float64 `yaml:"cachedInput"`
	Write   *float64 `yaml:"cacheWrite"`
	Reason  *float64 `yaml:"reasoning"`
	Long    *long    `yaml:"long"`
	Window  int      `yaml:"window"`
	Retires string   `yaml:"retires"`
	Instead string   `yaml:"instead"`
	Keep    []string `yaml:"keep"`
}

type long struct {
	Over   int      `yaml:"over"`
	Input  float64  `yaml:"input"`
	Output float64  `yaml:"output"`
	Cached *float64 `yaml:"cachedInput"`
	Write  *float64 `yaml:"cacheWrite"`
}

// line is a row, or the text of a line that is not a row.
type line struct {
	text string
	row  *row
}

type table struct{ lines []line }

var rowLine = regexp.MustCompile(`^  - (\{.*\})$`)

// parseTable parses the table: rows are lines, and all other lines are kept as they are.
func parseTable(data []byte) (*table, error) {
	t := &table{}
	rows := false
	for i, text := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		m := rowLine.FindStringSubmatch(text)
		trimmed := strings.TrimSpace(text)
		switch {
		case m != nil:
			r := &row{}
			d, err := yaml.NewLoader(strings.NewReader(m[1]), yaml.WithKnownFields())
			if err == nil {
				err = d.Load(r)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if len(r.Models) == 0 {
				return nil, fmt.Errorf("line %d: the row names no model", i+1)
			}
			t.lines, rows = append(t.lines, line{row: r}), true
		case strings.HasPrefix(trimmed, "- ") || rows && trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			return nil, fmt.Errorf("line %d: a row is one line of the form   - {models: [...], ...}", i+1)
		default:
			t.lines = append(t.lines, line{text: text})
		}
	}
	if !rows {
		return nil, errors.New("there are no rows")
	}
	return t, nil
}

// merge merges facts of public tables into the rows, and reports what it did and what a person
// should review. Its rules:
//
//  1. No row, name or fact is ever removed, and facts that a row lists under `keep` are not
//     changed.
//  2. The tables are queried in order; the first that has a fact provides it. Prices are one fact:
//     prices of different tables are not mixed.
//  3. A table matches a row by the row's names without *. If it has different facts for two of the
//     names, the row is not changed.
//  4. A price that would change by more than a factor of ten is not changed.
//  5. A retirement date is added only if the row has none.
//  6. New models of OpenAI, Anthropic and Google that call tools and produce text become rows after
//     the provider's other rows, at most 40.
func (t *table) merge(tables []map[string]fact) (report []string) {
	for _, l := range t.lines {
		if l.row == nil {
			continue
		}
		var prices, window, retires bool
		for _, facts := range tables {
			f, found, same := l.row.factsFor(facts)
			if !same {
				report = append(report, fmt.Sprintf("left: %s: a table says different things of its names",
					l.row.Models[0]))
			}
			if !found || !same {
				continue
			}
			if f.input != nil && !prices {
				prices = true
				report = append(report, l.row.setPrices(f)...)
			}
			if f.window > 0 && !window {
				window = true
				if !slices.Contains(l.row.Keep, "window") && l.row.Window != f.window {
					report = append(report, fmt.Sprintf("changed: %s: window %d, was %d", l.row.Models[0], f.window,
						l.row.Window))
					l.row.Window = f.window
				}
			}
			if f.retires != "" && !retires && l.row.Retires == "" && !slices.Contains(l.row.Keep, "retires") {
				retires = true
				l.row.Retires = f.retires
				report = append(report, fmt.Sprintf("changed: %s: retires %s", l.row.Models[0], f.retires))
			}
		}
	}
	return append(report, t.add(tables)...)
}

// factsFor finds a row's facts; same is false if they differ between its names.
func (r *row) factsFor(facts map[string]fact) (f fact, found, same bool) {
	for _, name := range r.Models {
		if strings.Contains(name, "*") {
			name = strings.TrimRight(strings.TrimSuffix(name, "*"), "-")
		}
		next, ok := facts[name]
		if !ok {
			continue
		}
		next.general = false
		if found && !reflect.DeepEqual(f, next) {
			return f, true, false
		}
		f, found = next, true
	}
	return f, found, true
}

// setPrices sets the prices of the row to those of a fact, which must have some.
func (r *row) setPrices(f fact) (report []string) {
	if changesTooMuch(r.Input, f.input) || changesTooMuch(r.Output, f.output) {
		return []string{
			fmt.Sprintf("left: %s: the price would change from %s and %s to %s and %s, by more than a factor of %d",
				r.Models[0], number(r.Input), number(r.Output), number(f.input), number(f.output), maxFactor),
		}
	}
	old := r.text()
	for key, set := range map[string]func(){
		"input": func() { r.Input = f.input }, "output": func() { r.Output = f.output },
		"cachedInput": func() { r.Cached = orOld(f.cached, r.Cached) }, "cacheWrite": func() {
			r.Write = orOld(f.write, r.Write)
		},
		"long": func() {
			if f.long != nil {
				r.Long = f.long
			}
		},
	} {
		if !slices.Contains(r.Keep, key) {
			set()
		}
	}
	if now := r.text(); now != old {
		report = append(report, "changed: "+now, "    was: "+old)
	}
	return report
}

func orOld(p, old *float64) *float64 {
	if p == nil {
		return old
	}
	return p
}

// changesTooMuch reports whether a price changes by more than maxFactor.
func changesTooMuch(old, now *float64) bool {
	return old != nil && now != nil && *old != *now && (*now > *old*maxFactor || *now*maxFactor < *old)
}

// add adds rows for new models.
func (t *table) add(tables []map[string]fact) (report []string) {
	found := map[string]fact{}
	for _, facts := range slices.Backward(tables) {
		for ref, f := range facts {
			if provider, _, _ := strings.Cut(ref, "/"); f.general && f.input != nil && plainRef.MatchString(ref) &&
				slices.Contains(newModelProviders, provider) && !t.has(ref) {
				found[ref] = f
			}
		}
	}
	refs := slices.Sorted(maps.Keys(found))
	if len(refs) > maxNew {
		report = append(report, fmt.Sprintf("left: %d new models more than %d: update again", len(refs)-maxNew, maxNew))
		refs = refs[:maxNew]
	}
	for _, ref := range refs {
		f := found[ref]
		r := &row{Models: []string{ref}, Input: f.input, Output: f.output, Cached: f.cached, Write: f.write,
			Long: f.long, Window: f.window, Retires: f.retires}
		provider, _, _ := strings.Cut(ref, "/")
		at := len(t.lines)
		for i, l := range t.lines {
			if l.row != nil && strings.HasPrefix(l.row.Models[0], provider+"/") {
				at = i + 1
			}
		}
		t.lines = slices.Insert(t.lines, at, line{row: r})
		report = append(report, "new: "+r.text())
	}
	return report
}

// has reports whether a row names a model with a price.
func (t *table) has(ref string) bool {
	for _, l := range t.lines {
		if l.row == nil {
			continue
		}
		for _, p := range l.row.Models {
			// In path.Match, * does not match a slash; names of these providers have one slash,
			// before the *.
			if ok, err := path.Match(p, ref); ok || err != nil {
				return true
			}
		}
	}
	return false
}

var asOf = regexp.MustCompile(`(?m)^asOf: .*$`)

// text returns the table as text; its date is updated if anything else changes.
func (t *table) text(now time.Time, old []byte) []byte {
	var b bytes.Buffer
	for _, l := range t.lines {
		if l.row != nil {
			b.WriteString("  - " + l.row.text())
		} else {
			b.WriteString(l.text)
		}
		b.WriteByte('\n')
	}
	if bytes.Equal(b.Bytes(), old) {
		return old
	}
	return asOf.ReplaceAll(b.Bytes(), []byte(`asOf: "`+now.UTC().Format(time.DateOnly)+`"`))
}

// text returns a row in canonical form.
func (r *row) text() string {
	out := []string{"models: [" + strings.Join(r.Models, ", ") + "]"}
	out = appendPrices(out, r.Input, r.Output, r.Cached, r.Write)
	if r.Reason != nil {
		out = append(out, "reasoning: "+number(r.Reason))
	}
	if l := r.Long; l != nil {
		out = append(out, "long: {"+strings.Join(appendPrices([]string{"over: " + strconv.Itoa(l.Over)}, &l.Input,
			&l.Output, l.Cached, l.Write), ", ")+"}")
	}
	if r.Window > 0 {
		out = append(out, "window: "+strconv.Itoa(r.Window))
	}
	if r.Retires != "" {
		out = append(out, `retires: "`+r.Retires+`"`)
	}
	if r.Instead != "" {
		out = append(out, "instead: "+r.Instead)
	}
	if len(r.Keep) > 0 {
		out = append(out, "keep: ["+strings.Join(r.Keep, ", ")+"]")
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func appendPrices(out []string, input, output, cached, write *float64) []string {
	for i, p := range []*float64{input, output, cached, write} {
		if p != nil {
			out = append(out, []string{"input", "output", "cachedInput", "cacheWrite"}[i]+": "+number(p))
		}
	}
	return out
}

func number(p *float64) string {
	if p == nil {
		return "none"
	}
	return strconv.FormatFloat(*p, 'f', -1, 64)
}
