package canvas_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/format/canvas"
)

// TestPlacePositions checks that positions are written where a document has them or after the id,
// and that all other bytes are unchanged.
func TestPlacePositions(t *testing.T) {
	t.Parallel()
	at := map[string]canvas.Position{"é": {X: 10, Y: -20.5}, "b": {X: 1, Y: 2}}
	for name, tt := range map[string]struct{ text, want string }{
		"own keys": {
			`{"nodes": [ {"id":"é", "x" : 7,"type":"start","y":8e1} ], "connections": []}`,
			`{"nodes": [ {"id":"é", "x" : 10,"type":"start","y":-20.5} ], "connections": []}`,
		},
		"a position": {
			`{"nodes": [{"position": {"y": 0, "x": 0}, "id": "b"}], "connections": []}`,
			`{"nodes": [{"position": {"y": 2, "x": 1}, "id": "b"}], "connections": []}`,
		},
		"an empty position": {`{"nodes": [{"position": {}, "id": "b"}]}`,
			`{"nodes": [{"position": {"x": 1, "y": 2}, "id": "b"}]}`},
		"none": {`{"nodes": [{"type": "end", "id": "b"}, {"id": "c"}]}`,
			`{"nodes": [{"type": "end", "id": "b", "x": 1, "y": 2}, {"id": "c"}]}`},
		"lines": {
			"# 🐝\nnodes:\n  - type: end\n    id: b # of 🐝\n  - id: c\nconnections: []\n",
			"# 🐝\nnodes:\n  - type: end\n    x: 1\n    y: 2\n    id: b # of 🐝\n  - id: c\nconnections: []\n",
		},
		"an alias": {"nodes: [&n {id: b, x: 5, y: 6}, *n]\n", "nodes: [&n {id: b, x: 1, y: 2}, *n]\n"},
		"no nodes": {`{"connections": []}`, `{"connections": []}`},
		"no node":  {`{"nodes": [7, null, {"id": ["b"]}]}`, `{"nodes": [7, null, {"id": ["b"]}]}`},
		"unknown x": {`{"nodes": [{"id": "b", "x": {"a": 1}, "y": 3}]}`,
			`{"nodes": [{"id": "b", "x": {"a": 1}, "y": 2}]}`},
		"no text": {`{`, `{`},
	} {
		if got := string(canvas.Place([]byte(tt.text), at)); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}
