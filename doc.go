// Package hocket will be the way into Hocket for Go programs; until then the module offers the command cmd/hocket.
//
// Its tests hold what concerns the whole house: which package may import which.
package hocket
