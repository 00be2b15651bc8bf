package typed

// Memory is where the bytes of a value begin.
func Memory(v *Value) *byte { return &v.head[0] }
