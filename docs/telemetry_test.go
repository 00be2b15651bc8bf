package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTelemetryNames checks that the tables of telemetry.md list exactly the attributes and metrics
// that package telemetry has.
func TestTelemetryNames(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "../internal/telemetry/names.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			known[name] = true
			if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), "`"+name+" ") {
				t.Errorf("telemetry.md does not name %s", name)
			}
		}
		return true
	})
	if len(known) < 40 {
		t.Errorf("found %d names", len(known))
	}
	for _, span := range regexp.MustCompile("`((?:gen_ai|hocket)\\.[a-z_.]+)`").FindAllStringSubmatch(string(text),
		-1) {
		if !known[span[1]] {
			t.Errorf("telemetry.md names %s, which is not there", span[1])
		}
	}
}

// TestTelemetryVariables checks that the table of telemetry.md lists the environment variables that
// are read.
func TestTelemetryVariables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../internal/telemetry/otlp/config.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`"(OTEL_[A-Z_]*[A-Z])"`).FindAllStringSubmatch(string(code), -1)
	if len(names) < 8 {
		t.Errorf("found %d variables", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name[1]+"`") {
			t.Errorf("telemetry.md does not name %s", name[1])
		}
	}
}
