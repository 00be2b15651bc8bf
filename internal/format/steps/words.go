package steps

import (
	"strconv"

	"github.com/hocket-run/hocket/workflow"
)

// leads describes in the words of documents when the path behind a node's port is followed: `it
// fails`.
func leads(port string) string {
	switch port {
	case workflow.PortOut:
		return "it has ended"
	case workflow.PortError:
		return "it fails"
	case workflow.PortTimeout:
		return "its deadline has passed"
	case workflow.PortApprove:
		return "it is approved"
	case workflow.PortReject:
		return "it is rejected"
	case workflow.PortLimit:
		return "its loop has made all its passes"
	}
	return "its branch " + strconv.Quote(port) + " is taken"
}

// after names what follows a node through a port: `what follows where it fails`.
func after(port string) string { return "what follows where " + leads(port) }
