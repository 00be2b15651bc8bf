package sim

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Equal reports whether Diff finds no difference.
func Equal(want, got []event.Event) (bool, error) {
	forms, err := formsOf(want, got)
	return slices.Equal(forms[0], forms[1]), err
}
