package run

import "testing"

// SEC17: the active descendants of all roots of a process are limited, too, to twice the maximum for
// one root, so that several roots do not use up the memory together.
func TestDescendantCounts_Process(t *testing.T) {
	t.Parallel()
	f := descendantCounts{most: 2}
	enter := func(root string) (leave func(), ok bool) {
		leave, ok, err := f.enter(root, true, func(int) (int, error) { return 0, nil })
		if err != nil {
			t.Fatal(err)
		}
		return leave, ok
	}
	var leaves []func()
	for _, root := range []string{"a", "a", "b", "b"} {
		leave, ok := enter(root)
		if !ok {
			t.Fatalf("a run below %s was refused", root)
		}
		leaves = append(leaves, leave)
	}
	if _, ok := enter("c"); ok {
		t.Error("a fifth run was not refused")
	}
	leaves[0]()
	if _, ok := enter("c"); !ok {
		t.Error("a run was refused after another had ended")
	}
}
