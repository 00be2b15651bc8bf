package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestLLMs checks that docs/llms.txt lists the existing pages under their titles.
func TestLLMs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "docs")
	want, err := llms(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/llms.txt is not what `make docs` writes (-want +got):\n%s", diff)
	}
}

func TestLLMsNeedsTitles(t *testing.T) {
	t.Parallel()
	if _, err := llms(fstest.MapFS{"a.md": {Data: []byte("no title\n")}}); err == nil {
		t.Error("a page without a title is listed")
	}
}
