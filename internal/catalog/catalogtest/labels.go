package catalogtest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/workflow"
)

// testLabels checks X-76: a version keeps the labels of its document, and a workflow has the labels
// of the version that its name is taken from: the published one, or else the draft. Rows have none.
func testLabels(t *testing.T, s catalog.Store) {
	ctx := t.Context()
	labelled := func(id, text string, l workflow.Labels) catalog.Put {
		p := doc(id, text)
		p.Labels = l
		return p
	}
	are := func(id string, want workflow.Labels) {
		t.Helper()
		e, err := s.Entry(ctx, id)
		if diff := cmp.Diff(want, e.Labels); err != nil || diff != "" {
			t.Errorf("labels of %s (-want +got): %v\n%s", id, err, diff)
		}
		all, err := s.Entries(ctx)
		for _, other := range all {
			if other.ID == id && !other.Equal(e) {
				t.Errorf("the list has %+v, and the entry is %+v", other, e)
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	news, sport := workflow.Labels{"team": "news"}, workflow.Labels{"team": "sport", "a.b/c": "", "z": `<é> "x" = \ 東京`}
	full := workflow.Labels{}
	for i := range workflow.MaxLabels {
		full[fmt.Sprintf("k%0*d", workflow.MaxLabelKey-1, i)] = fmt.Sprintf("%0*d", workflow.MaxLabelValue, i)
	}

	put(t, s, draft(labelled("w", "one", news)), "version 1: published 0, draft 1")
	are("w", news)
	put(t, s, labelled("w", "two", sport), "version 2: published 2, draft 1")
	are("w", sport)
	put(t, s, labelled("w", "two", sport), "version 2: published 2, draft 1, unchanged")
	put(t, s, labelled("w", "three", nil), "version 3: published 3, draft 1")
	are("w", nil)
	if e, err := s.Publish(ctx, catalog.Publication{ID: "w", Version: 2, At: noon}); err != nil ||
		!cmp.Equal(e.Entry.Labels, sport) {
		t.Errorf("published: %+v, %v", e, err)
	}
	are("w", sport)
	put(t, s, labelled("full", "one", full), "version 1: published 1, draft 0")
	are("full", full)

	versions, err := s.Versions(ctx, "w")
	if err != nil || len(versions) != 3 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	for i, want := range []workflow.Labels{news, sport, nil} {
		v, err := s.Version(ctx, "w", i+1)
		if diff := cmp.Diff([]workflow.Labels{want, want},
			[]workflow.Labels{versions[i].Labels, v.Labels}); err != nil || diff != "" {
			t.Errorf("labels of version %d (-want +got): %v\n%s", i+1, err, diff)
		}
	}

	versions[1].Labels["team"], news["team"] = "changed", "changed"
	are("w", sport)
	put(t, s, routes("rows", "one"), "version 1: published 1, draft 0")
	put(t, s, draft(labelled("rows", "two", sport)), "version 2: published 1, draft 2")
	are("rows", nil)
}
