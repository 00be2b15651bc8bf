package page_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool/fetch/page"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// TestConvert_ContextDone checks that a page is read and converted in pieces, that the context is
// checked before each piece, and that little is done once the context is done.
func TestConvert_ContextDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		pieces int
	}{
		"long text": {strings.Repeat("word ", 100_000), 500_000 / 4096},
		"elements":  {strings.Repeat("<p>x<b>y</b>", 5_000), 5_000},
		"tables":    {strings.Repeat("<table><tr><td>x</table>", 2_000), 2_000},
		"open":      {strings.Repeat("<font><table>", 10_000), 30},
	} {
		for form, convert := range map[string]func(context.Context) (string, error){
			"markdown": func(ctx context.Context) (string, error) {
				return page.Reader{}.Markdown(ctx, c.source, "https://example.com/")
			},
			"text": func(ctx context.Context) (string, error) { return page.Reader{}.Text(ctx, c.source) },
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				half := &tooltest.Countdown{Context: context.Background(), Until: c.pieces / 2}
				if _, err := convert(half); !errors.Is(err, context.Canceled) {
					t.Fatalf("got %v after it asked %d times", err, half.Asked)
				}
				whole := &tooltest.Countdown{Context: context.Background(), Until: 1 << 40}
				if _, err := convert(whole); errors.Is(err, context.Canceled) || whole.Asked < c.pieces {
					t.Errorf("the work was done in %d pieces, want %d at least: %v", whole.Asked, c.pieces, err)
				}
			})
		}
	}
}

// TestManyTables checks that many tables that are each within the limit, and long cells, do not
// expand a small page into a large output either.
func TestManyTables(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"many tables": strings.Repeat("<table><tr><td colspan=1000>x</table>", 20_000),
		"long cells":  "<table><tr><td>" + strings.Repeat("x", 100_000) + strings.Repeat("<tr><td>y", 10_000),
	} {
		got, err := page.Reader{}.Markdown(t.Context(), source, "")
		if err != nil || len(got) > 3*len(source) || !strings.Contains(got, "x") {
			t.Errorf("%s: %d bytes became %d, %v", name, len(source), len(got), err)
		}
	}
}
