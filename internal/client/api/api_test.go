package api_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/client/api"
)

// TestOperations checks that each operation of the document has its method, so that the client
// matches the document.
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
			var op struct{ OperationID string }
			if json.Unmarshal(raw, &op) != nil || op.OperationID == "" {
				continue
			}
			checked++
			if _, ok := client.MethodByName(strings.ToUpper(op.OperationID[:1]) + op.OperationID[1:]); !ok {
				t.Errorf("%s %s: the client has no %s; run go generate ./internal/client/api", method, path,
					op.OperationID)
			}
		}
	}
	if checked < 20 {
		t.Errorf("the document has %d operations", checked)
	}
}
