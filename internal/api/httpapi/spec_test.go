package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// golden compares got with a file, which -update writes.
func golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-golden +now; go test ./internal/api/httpapi -update rewrites it):\n%s", path, diff)
	}
}

// specOf returns the OpenAPI document as served.
func specOf(t testing.TB, w *world) []byte {
	t.Helper()
	a := w.withT(t).do("GET", httpapi.SpecPath, nil).is(200)
	if ct := a.header.Get("Content-Type"); ct != "application/openapi+json" {
		t.Errorf("Content-Type %q", ct)
	}
	return []byte(a.body)
}

// TestDocument checks that the document equals docs/openapi.json and that kin-openapi accepts it.
func TestDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := specOf(t, w)
	golden(t, filepath.Join("..", "..", "..", "docs", "openapi.json"), string(text))
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(text), "http://") || strings.Contains(strings.ReplaceAll(string(text), "https://", ""),
		"cdn") {
		t.Error("the document names something that is loaded from elsewhere (SEC19)")
	}
}

// TestDocument_Descriptions checks that each operation documents its purpose, its role and its
// errors, and that each field of a request has a description.
func TestDocument_Descriptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	doc, err := openapi3.NewLoader().LoadFromData(specOf(t, w))
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`^[a-z]+[A-Z][A-Za-z]+$`)
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			if !id.MatchString(op.OperationID) || op.Summary == "" || len(op.Tags) != 1 ||
				op.Extensions["x-role"] == nil || op.Security == nil {
				t.Errorf("%s: id %q, summary %q, tags %q, role %v", name, op.OperationID, op.Summary, op.Tags,
					op.Extensions["x-role"])
			}
			for _, status := range []int{400, 401, 403, 422, 500} {
				r := op.Responses.Status(status)
				if r == nil || r.Value.Content["application/problem+json"] == nil ||
					r.Value.Content["application/problem+json"].Schema.Ref != "#/components/schemas/Problem" {
					t.Errorf("%s has no problem with status %d", name, status)
				}
			}
			for _, m := range regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(path, -1) {
				if op.Parameters.GetByInAndName("path", m[1]) == nil {
					t.Errorf("%s: its input has no parameter %s; what is embedded must be exported", name, m[1])
				}
			}
			for _, p := range op.Parameters {
				if p.Value.Description == "" {
					t.Errorf("%s: parameter %s is not described", name, p.Value.Name)
				}
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		if !strings.HasSuffix(name, "Body") {
			continue
		}
		for field, p := range s.Value.Properties {
			if p.Value != nil && p.Ref == "" && p.Value.Description == "" {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
	}
}

// TestRoles checks the table of all operations with the role that each one needs (SEC2).
func TestRoles(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, op := range newWorld(t).api.Operations() {
		fmt.Fprintf(&b, "%-6s %-40s %-5s %s\n", op.Method, op.Path, op.Role, op.ID)
	}
	golden(t, filepath.Join("testdata", "roles.txt"), b.String())
}

// TestRoleMatrix calls every operation with every role: roles below the declared one yield 403 and
// callers without a token 401; all others pass the gate, whatever response follows (SEC1, SEC2).
func TestRoleMatrix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, op := range w.api.Operations() {
		path := regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(op.Path, "missing")
		for _, role := range append(access.Roles(), "") {
			a := w.withCaller(role, true).do(op.Method, path, `{"unknown": 1}`)
			switch may := (access.Principal{Role: role}).May(op.Role); {
			case role == "" && a.status != 401:
				t.Errorf("%s %s without a token: %d", op.Method, path, a.status)
			case role != "" && !may && a.status != 403:
				t.Errorf("%s %s with the role %s: %d", op.Method, path, role, a.status)
			case may && (a.status == 401 || a.status == 403 || a.status >= 500):
				t.Errorf("%s %s with the role %s: %d %s", op.Method, path, role, a.status, a.body)
			}
		}
	}
}

// TestStreamRole checks that the event stream at the path of a list needs the same role as the list
// (SEC1, SEC2).
func TestStreamRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.withCaller("", true).do("GET", "/api/v1/runs/missing/events", nil, "Accept", "text/event-stream").problem(401,
		"unauthorized")
	w.withCaller(access.RoleRun, false).do("GET", "/api/v1/runs/missing/events", nil, "Accept", "text/event-stream").
		problem(
			404, "not_found")
}

// described checks a response against the document: the operation declares its status, and its body
// matches the schema.
func described(doc *openapi3.T, pattern string, a answer) error {
	method, path, _ := strings.Cut(pattern, " ")
	item := doc.Paths.Find(path)
	if item == nil || item.GetOperation(method) == nil {
		return fmt.Errorf("%s is not in the document", pattern)
	}
	r := item.GetOperation(method).Responses.Status(a.status)
	if r == nil {
		return fmt.Errorf("%s does not have the status %d: %s", pattern, a.status, a.body)
	}
	media := r.Value.Content[a.header.Get("Content-Type")]
	if media == nil {
		if a.body == "" {
			return nil
		}
		return fmt.Errorf("%s %d does not have the type %q", pattern, a.status, a.header.Get("Content-Type"))
	}
	if media.Schema == nil || !strings.HasSuffix(a.header.Get("Content-Type"), "json") {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	if err := d.Decode(&v); err != nil {
		return err
	}
	return media.Schema.Value.VisitJSON(v, openapi3.MultiErrors())
}

// TestRedocly checks that an independent linter accepts the served OpenAPI document.
func TestRedocly(t *testing.T) {
	t.Parallel()
	program := filepath.Join("..", "..", "..", "scripts", "redocly", "node_modules", "@redocly", "cli", "bin", "cli.js")
	node, err := exec.LookPath("node")
	if _, statErr := os.Stat(program); err != nil || statErr != nil {
		const how = "redocly is not installed: run `npm ci` in scripts/redocly, or `make test`"
		if os.Getenv("HOCKET_REDOCLY") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	file := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(file, specOf(t, newWorld(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), node, program, "lint", "--extends=spec", file)
	c.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
