package catalog

// Change is the effect of a Put on the versions of a workflow.
type Change struct {
	Published, Draft int
	// Version is the version that holds the text; IsNew is set if it must be stored.
	Version int
	IsNew   bool
}

// Plan determines the effect of a Put on a workflow with these versions; says reports whether a
// version has the text. All stores use it.
func Plan(draft bool, published, drafted, latest int, says func(version int) bool) Change {
	c := Change{Published: published, Draft: drafted}
	switch {
	case drafted != 0 && says(drafted):
		c.Version = drafted
	case published != 0 && says(published) && (!draft || drafted == 0):
		c.Version = published
	default:
		c.Version, c.IsNew = latest+1, true
	}
	switch {
	case !draft:
		c.Published = c.Version
		if c.Draft == c.Version {
			c.Draft = 0
		}
	case c.Version != published:
		c.Draft = c.Version
	}
	return c
}
