//go:build !unix

package main

import "time"

// processTime is not supported on this system.
func processTime() time.Duration { return 0 }
