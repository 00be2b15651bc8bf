// Package compat has what the document that describes graphs (S2) names and Go programs do not need: guards over values of unknown type, a validator of states, checks of context windows, and
// constants.
//
// It refuses to do anything of its own: all of it is a few lines over packages graph and hocket. Nothing here keeps state, and all is safe for concurrent use.
package compat
