package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/client/api"
	"github.com/hocket-run/hocket/internal/op"
)

// TestOperations checks that each operation of the document has its method, so that the client
// matches the document, unless it is in the table of operations and needs no generated code.
func TestOperations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	client, checked := reflect.TypeFor[*api.Client](), 0
	for path, methods := range doc.Paths {
		for method, raw := range methods {
			var entry struct{ OperationID string }
			if json.Unmarshal(raw, &entry) != nil || entry.OperationID == "" {
				continue
			}
			checked++
			if slices.ContainsFunc(op.All(), func(o *op.Operation) bool { return o.ID == entry.OperationID }) {
				if _, ok := client.MethodByName(name(entry.OperationID)); ok {
					t.Errorf("%s is in the table of operations; exclude it in config.yaml", entry.OperationID)
				}
				continue
			}
			if _, ok := client.MethodByName(name(entry.OperationID)); !ok {
				t.Errorf("%s %s: the client has no %s; run go generate ./internal/client/api", method, path,
					entry.OperationID)
			}
		}
	}
	if checked < 20 {
		t.Errorf("the document has %d operations", checked)
	}
}

// name returns the name of the method of an operation.
func name(id string) string { return strings.ToUpper(id[:1]) + id[1:] }
