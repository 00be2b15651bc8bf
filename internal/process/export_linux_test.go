package process

// Orphaned returns the supervisors whose Hocket process has ended.
func Orphaned() []int { return orphaned() }
