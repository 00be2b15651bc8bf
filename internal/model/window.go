package model

import "github.com/hocket-run/hocket/internal/price"

// Window returns the size of a model's context window in tokens, or 0 if the table of models does
// not contain it. ref is a reference as accepted by ParseRef.
func Window(ref string) int {
	r, err := ParseRef(ref)
	if err != nil {
		return 0
	}
	return price.Window(r.String())
}
