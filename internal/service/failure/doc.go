// Package failure is the errors of the use cases: their types, and for each error its code, its family and the text by which transports word it.
//
// All parts of package service return these errors; transports read them by [CodeOf] and [Describe]. It knows no use case.
package failure
