package process

// Orphaned gives the supervisors whose Hocket process has ended.
func Orphaned() []int { return orphaned() }
