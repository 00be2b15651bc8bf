package definition

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/inflight"
)

// TestWorkBytes checks that what reading a document allocates is in proportion to its estimate, at
// n and 2n steps, and that a small document costs little.
func TestWorkBytes(t *testing.T) { //nolint:paralleltest // it measures allocations
	for name, step := range map[string]string{
		"no agent": "- {type: agent, name: a%d}\n",
		"set":      "- {id: s%d, type: set, values: {a: x}}\n",
		"block":    "- id: s%d\n  type: set\n  values:\n    a: x\n",
	} {
		used := func(n int) int64 {
			var b strings.Builder
			b.WriteString("workflow:\n")
			for i := range n {
				fmt.Fprintf(&b, step, i)
			}
			text := []byte(b.String())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, _, err := Load(t.Context(), "x.yaml", text, LoadOptions{Formats: linked.Kit().Formats}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			got, estimate := int64(after.TotalAlloc-before.TotalAlloc), workBytes(text)
			if got > 4*estimate {
				t.Errorf("%s: %d steps allocate %d bytes, the estimate is %d", name, n, got, estimate)
			}
			return got
		}
		if n, double := used(2_000), used(4_000); double > 3*n {
			t.Errorf("%s: %d bytes for 2,000 steps, %d for 4,000", name, n, double)
		}
	}
	if got := workBytes([]byte("workflow: [{type: end, output: x}]")); got > 10_000 {
		t.Errorf("a small document costs %d bytes", got)
	}
	for name, anchor := range map[string]string{"plain": "&", "tag": "!!seq &", "comment": "# x\n  &",
		"verbatim tag": "!<tag:yaml.org,2002:seq> &", "tag and comment": "!!seq # x\n  &",
		"carriage return": "# x\r  &", "next line": "# x\u0085  &"} {
		aliases := strings.ReplaceAll("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "&", anchor)
		if plain := workBytes([]byte(strings.ReplaceAll(aliases, "*", "-"))); workBytes([]byte(aliases)) < 4*plain {
			t.Errorf("%s: aliases cost nothing", name)
		}
	}
	for _, alias := range []string{" *a", "# x\n  *a", "# x\r  *a"} {
		text := "a: &a [x, x]\nb:" + alias + "\nc:" + alias + "\n"
		if plain := workBytes([]byte(strings.ReplaceAll(text, "*", "-"))); workBytes([]byte(text)) < 2*plain {
			t.Errorf("aliases after %q cost nothing", alias)
		}
	}
}

// TestLoad_Charged checks that reading a document is charged before it is done.
func TestLoad_Charged(t *testing.T) {
	t.Parallel()
	pool := inflight.New(inflight.Config{Total: 1 << 20, Share: 1 << 19})
	text := []byte("workflow: [" + strings.Repeat("{type: agent, name: a}, ", 1_000) + "{type: end, output: x}]")
	load := func(c *inflight.Claim) error {
		_, _, err := Load(inflight.With(t.Context(), c), "x.yaml", text, LoadOptions{Formats: linked.Kit().Formats})
		return err
	}
	first, second := pool.Claim("a"), pool.Claim("a")
	if err := load(first); err != nil || first.Bytes() == 0 {
		t.Fatalf("%d bytes, %v", first.Bytes(), err)
	}
	if err := load(second); err == nil || second.Bytes() != 0 {
		t.Errorf("beside another: %d bytes, %v", second.Bytes(), err)
	}
	first.Close()
	if err := load(second); err != nil {
		t.Errorf("after it: %v", err)
	}
}
