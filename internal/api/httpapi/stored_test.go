package httpapi

import (
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
)

// TestAsStored: the answer to a change has the tag that was read after it, unless another client has changed the workflow in between: then it has a tag that no state of the
// workflow has, and shows what this change made, so that the next change of the client does not go over the other's (P38).
func TestAsStored(t *testing.T) {
	t.Parallel()
	mine := catalog.Entry{ID: "w", Published: 3, Draft: 5}
	for name, tt := range map[string]struct {
		now  catalog.Entry
		mine bool
	}{
		"no other client":         {mine, true},
		"another draft":           {catalog.Entry{ID: "w", Published: 3, Draft: 6}, false},
		"the draft was published": {catalog.Entry{ID: "w", Published: 5}, false},
		"another was published":   {catalog.Entry{ID: "w", Published: 4, Draft: 5}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tag := quote(catalog.Tag(tt.now, nil))
			out := &definitionAnswer{Tagged: Tagged{tag}, Body: &Definition{Workflow: workflowOf(tt.now)}}
			out.asStored(mine)
			if got := out.ETag == tag; got != tt.mine {
				t.Errorf("it has the tag of what is stored now: %t", got)
			}
			if !tt.mine && (out.ETag == quote(catalog.Tag(mine, nil)) || *out.Body.Draft != 5 || *out.Body.Published != 3) {
				t.Errorf("%+v", out.Body.Workflow)
			}
		})
	}
}
