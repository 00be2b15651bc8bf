package resources

import (
	"slices"
	"testing"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/tool"
)

// X-125, SEC14: patterns of `edit` that the operator added after a run began do not apply to it
// until a person has allowed it again.
func TestPermissions_EditPatternsAddedLater(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rules   string
		allowed bool
		want    []string
	}{
		"as it began":              {`{"edit":["a","b"]}`, false, []string{"a", "b"}},
		"one was added":            {`{"edit":["a"],"ask":["*"]}`, false, []string{"a"}},
		"no rules when it began":   {``, false, nil},
		"allowed again":            {`{"ask":["*"]}`, true, []string{"a", "b"}},
		"one was taken away since": {`{"edit":["a","b","c"]}`, false, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := &Opener{}
			op.cfg.Permissions = tool.Permissions{Edit: []string{"a", "b"}}
			meta := map[string]string{MetaRules: tc.rules}
			if tc.allowed {
				op.reapproved = []string{allowedKey(meta)}
			}
			var cfg tool.Config
			if err := op.permit(t.Context(), driver.Info{Meta: meta}, &cfg); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(cfg.Permissions.Edit, tc.want) {
				t.Errorf("edit is %q, want %q", cfg.Permissions.Edit, tc.want)
			}
			if !slices.Equal(op.cfg.Permissions.Edit, []string{"a", "b"}) {
				t.Error("the operator's own were changed")
			}
		})
	}
}
