// Package failure contains the errors of the use cases: their types, and for each error its code,
// its family and the message that transports show.
//
// All parts of package service return these errors; transports inspect them with [CodeOf] and
// [Describe]. It knows no use case.
package failure
