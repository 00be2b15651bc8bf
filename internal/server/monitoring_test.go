package server_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/server"
)

// expressions returns the expressions of the alert rules and of the dashboard in folder deploy.
func expressions(t *testing.T) []string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	data := readFile(t, "../../deploy/prometheus/alerts.yaml")
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&rules); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("the alert %s has no severity or no summary", r.Alert)
			}
			out = append(out, r.Expr)
		}
	}
	var board struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Query string }
		}
	}
	if err := json.Unmarshal(readFile(t, "../../deploy/grafana/hocket.json"), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			out = append(out, q.Expr)
		}
	}
	for _, v := range board.Templating.List {
		out = append(out, v.Query)
	}
	return out
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

var (
	metricName = regexp.MustCompile(`\b(?:hocket|gen_ai)_[a-z_]+`)
	selector   = regexp.MustCompile(`\b((?:hocket|gen_ai)_[a-z_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+)(?:=~|!=|=)"`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// TestMonitoring checks that the alert rules, the dashboard and the table of the documentation name
// metrics and labels that a server has.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	have := server.MetricLabels()
	base := func(name string) string {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			if n, ok := strings.CutSuffix(name, part); ok && have[n] != nil {
				return n
			}
		}
		return name
	}
	scraped := []string{"instance", "job", "le"} // labels that Prometheus adds
	for _, expr := range expressions(t) {
		allowed := slices.Clone(scraped)
		for _, m := range selector.FindAllStringSubmatch(expr, -1) {
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(append(scraped, have[base(m[1])]...), l[1]) {
					t.Errorf("%s has no label %s: %s", m[1], l[1], expr)
				}
			}
		}
		plain := grouping.ReplaceAllString(matcher.ReplaceAllString(expr, ""), "")
		for _, name := range metricName.FindAllString(plain, -1) {
			labels, ok := have[base(name)]
			if !ok {
				t.Errorf("there is no metric %s: %s", name, expr)
			}
			allowed = append(allowed, labels...)
		}
		for _, by := range grouping.FindAllStringSubmatch(expr, -1) {
			for l := range strings.SplitSeq(by[1], ",") {
				if l = strings.TrimSpace(l); !slices.Contains(allowed, l) {
					t.Errorf("no metric has the label %s: %s", l, expr)
				}
			}
		}
	}

	page := string(readFile(t, "../../docs/server.md"))
	_, table, _ := strings.Cut(page, "\n## Metrics\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range metricName.FindAllString(table, -1) {
		_, isMetric := have[name]
		isLabel := false
		for _, labels := range have {
			isLabel = isLabel || slices.Contains(labels, name)
		}
		if !isMetric && !isLabel {
			t.Errorf("docs/server.md names %s, which is neither a metric nor a label", name)
		}
	}
	for name := range have {
		if !strings.Contains(table, "`"+name+"`") && !strings.HasPrefix(name, "gen_ai_") {
			t.Errorf("docs/server.md does not name %s", name)
		}
	}
}
