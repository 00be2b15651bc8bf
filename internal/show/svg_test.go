package show

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/workflow"
)

// texts parses an SVG picture strictly and returns its text contents and the names of its elements.
func texts(t *testing.T, picture []byte) (content, elements []string) {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(picture))
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return content, elements
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch v := tok.(type) {
		case xml.StartElement:
			elements = append(elements, v.Name.Local)
			for _, a := range v.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.Contains(a.Value, "://") &&
					a.Name.Local != "xmlns" {
					t.Errorf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		case xml.CharData:
			content = append(content, string(v))
		}
	}
}

// TestSVG checks that every sample produces a well-formed picture that contains every title and
// label, whatever characters they contain, and nothing active (SEC15). The pictures are kept next
// to the golden files for inspection.
func TestSVG(t *testing.T) {
	t.Parallel()
	for name, w := range samples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := SVG(w)
			if err != nil {
				t.Fatal(err)
			}
			content, elements := texts(t, got)
			for _, e := range elements {
				if !slices.Contains([]string{"svg", "g", "rect", "circle", "polygon", "path", "text", "title"}, e) {
					t.Errorf("element %s", e)
				}
			}
			p := newPicture(w)
			for _, b := range p.boxes {
				if !slices.Contains(content, b.title) {
					t.Errorf("no title %q", b.title)
				}
			}
			for _, a := range p.arrows {
				for _, line := range wrap(a.label, labelWidth, 3) {
					if line != "" && !slices.Contains(content, line) {
						t.Errorf("no label %q", line)
					}
				}
			}
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s has changed; look at the new picture and run the test with -update", path)
			}
		})
	}
}

func TestSVGTooLarge(t *testing.T) {
	t.Parallel()
	w := &workflow.Workflow{Entry: "0"}
	for i := range maxBoxes + 1 {
		w.Nodes = append(w.Nodes, bare(fmt.Sprint(i), workflow.KindEnd))
	}
	if _, err := SVG(w); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
