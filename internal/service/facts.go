package service

import "github.com/hocket-run/hocket/internal/service/failure"

// asks is what a document wants beside its tools: to send variables, and to tell its agents files that are no texts for readers.
func asks(sends, files []string) failure.CommandsError {
	e := failure.CommandsError{Sends: sends}
	for _, name := range files {
		e.Access = append(e.Access, "send the file "+name+" to its models")
	}
	return e
}
