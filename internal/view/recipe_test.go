package view

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// TestRecipe_Verified checks that the text of a recipe is verified against the recipe, and that
// assembling stops once it becomes longer: in a damaged journal it could have any length.
func TestRecipe_Verified(t *testing.T) {
	t.Parallel()
	const whole = "0123456789"
	for name, tc := range map[string]struct {
		recipe prompt.Recipe
		err    bool
	}{
		"as it says":    {prompt.Recipe{Bytes: 10, SHA256: journal.HashOf([]byte(whole))}, false},
		"longer":        {prompt.Recipe{Bytes: 9, SHA256: journal.HashOf([]byte(whole))}, true},
		"another":       {prompt.Recipe{Bytes: 10, SHA256: journal.HashOf([]byte("other"))}, true},
		"no SHA-256":    {prompt.Recipe{Bytes: 10}, true},
		"a huge length": {prompt.Recipe{Bytes: 1 << 60, SHA256: journal.HashOf([]byte("other"))}, true},
	} {
		r := &Reader{run: "r1", table: NewTable(), room: fillBytes}
		ref := r.table.assemble(&tc.recipe, text.Of("01234").Append(text.Of("56789")))
		var out bytes.Buffer
		err := r.content(t.Context(), &out, ref)
		var damaged *journal.CorruptError
		if tc.err != errors.As(err, &damaged) || !tc.err && out.String() != whole {
			t.Errorf("%s: wrote %q, %v", name, out.String(), err)
		}
	}
}
