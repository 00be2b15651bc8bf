package format

import "slices"

// Unregister removes a format that a test registered.
func Unregister(name string) {
	mu.Lock()
	defer mu.Unlock()
	added = slices.DeleteFunc(added, func(f Format) bool { return f.Name == name })
}
