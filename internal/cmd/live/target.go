package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/model/providers"
	"github.com/hocket-run/hocket/internal/price"
)

// target is a model under test, with its remaining budget and the differences found. Its methods
// must be called by one goroutine at a time.
type target struct {
	ref        string
	env        model.Env
	usdLeft    float64
	tokensLeft int64
	isPriced   bool
	calls      int
	recorder   recorder
	differs    map[string]*difference
}

// difference is a deviation, with the examples in which it occurred.
type difference struct {
	examples []string
	times    int
	first    *exchange // nil for a difference of a whole run
}

func newTarget(ref string, env model.Env, usd float64) *target {
	_, isPriced := price.Default().Rate(ref)
	return &target{ref: ref, env: env, usdLeft: usd, tokensLeft: maxTokens, isPriced: isPriced,
		differs: map[string]*difference{}}
}

// result is the part of the output of `hocket run --json` that is used here.
type result struct {
	Status string `json:"status"`
	Error  *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
	Usage struct {
		InputTokens  int64 `json:"inputTokens"`
		OutputTokens int64 `json:"outputTokens"`
		ModelCalls   int   `json:"modelCalls"`
	} `json:"usage"`
}

// run runs an example with the remaining budget, and returns its line of the report.
func (t *target) run(ctx context.Context, e example) string {
	budget := strconv.FormatInt(t.tokensLeft, 10)
	if t.isPriced {
		budget = fmt.Sprintf("%.4fUSD", t.usdLeft)
	}
	if t.usdLeft < 0.0001 || t.tokensLeft < 100 {
		return t.line(e, "not run: the budget is spent")
	}
	dir, err := os.MkdirTemp("", "hocket-live-")
	if err != nil {
		return t.line(e, "not run: "+err.Error())
	}
	defer os.RemoveAll(dir)
	flags := []string{"--model", t.ref, "--json", "--db", filepath.Join(dir, "hocket.db"), "--trust", "--approve-all",
		"--timeout", "2m", "--budget", budget, "--budget", "100calls"}
	var out, errs bytes.Buffer
	start := time.Now()
	wiring := cli.Wiring{Adapters: providers.AdaptersWith(func(ep model.Endpoint) *http.Client {
		c := providers.Client(ep, nil)
		c.Transport = &tap{next: c.Transport, to: &t.recorder}
		return c
	})}
	status := cli.Main(ctx, slices.Concat(e.args[:2], flags, e.args[2:]), streams(t.env, &out, &errs), wiring)
	took := time.Since(start).Round(100 * time.Millisecond)
	var r result
	isResult := json.Unmarshal(out.Bytes(), &r) == nil
	cost := t.spend(e, r)
	switch {
	case ctx.Err() != nil:
		return t.line(e, "interrupted")
	case !isResult:
		r.Status = fmt.Sprintf("exit status %d", status)
		t.addDifference(e, "the run: "+firstLine(errs.String()), nil)
	case r.Error != nil:
		t.addDifference(e, "the run failed: "+r.Error.Code+": "+firstLine(r.Error.Message), nil)
	case r.Status != "completed":
		t.addDifference(e, "the run is "+r.Status, nil)
	}
	return t.line(e, fmt.Sprintf("%s  %s  %d calls  %d+%d tokens  %s", r.Status, took, r.Usage.ModelCalls,
		r.Usage.InputTokens, r.Usage.OutputTokens, cost))
}

// spend takes the exchanges of a run, records their differences, and counts their cost: the usage
// that the provider reported, and an estimate for each exchange without usage.
func (t *target) spend(e example, r result) (cost string) {
	used := chat.Usage{InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens}
	for _, x := range t.recorder.take() {
		t.calls++
		found, hasUsage := differences(x)
		for _, d := range found {
			t.addDifference(e, d, x)
		}
		if !hasUsage {
			used = used.Add(x.guess())
		}
	}
	if !t.isPriced {
		t.tokensLeft -= used.InputTokens + used.OutputTokens
		return "no price"
	}
	usd := price.Default().Cost(t.ref, used)
	t.usdLeft -= *usd
	return fmt.Sprintf("%.4f USD", *usd)
}

func (t *target) line(e example, text string) string {
	return fmt.Sprintf("%-30s %-18s %s", t.ref, e.name, text)
}

func (t *target) addDifference(e example, what string, x *exchange) {
	d := t.differs[what]
	if d == nil {
		d = &difference{first: x}
		t.differs[what] = d
	}
	d.times++
	if !slices.Contains(d.examples, e.name) {
		d.examples = append(d.examples, e.name)
	}
}

// report prints the differences.
func (t *target) report(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %d calls", t.ref, t.calls)
	if len(t.differs) == 0 {
		fmt.Fprintln(w, ", nothing differed")
		return
	}
	fmt.Fprintln(w, ", what differed:")
	for _, what := range slices.Sorted(maps.Keys(t.differs)) {
		d := t.differs[what]
		fmt.Fprintf(w, "  %4d× %s (%s)\n", d.times, what, strings.Join(d.examples, ", "))
	}
}

// write writes the first exchange of each difference to a directory, and returns how many there
// are.
func (t *target) write(dir string) (n int, err error) {
	for _, what := range slices.Sorted(maps.Keys(t.differs)) {
		x := t.differs[what].first
		if x == nil {
			continue
		}
		n++
		text := fmt.Sprintf("%s\n\nPOST %s\n%s\n\n%d %s\n%s\n", what, x.path, x.request, x.status, x.contentType,
			x.body)
		file := filepath.Join(dir, fmt.Sprintf("%s-%d.txt", strings.ReplaceAll(t.ref, "/", "-"), n))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return n, err
		}
	}
	return n, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
