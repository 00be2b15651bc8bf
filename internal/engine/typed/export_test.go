package typed

// Memory returns the address of the first byte of a value.
func Memory(v *Value) *byte { return &v.head[0] }
