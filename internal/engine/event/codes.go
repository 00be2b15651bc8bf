package event

// Class is a set of what is true of all failures with a code.
type Class uint8

// The elements of a Class.
const (
	// OfLimit: a limit was reached, which another attempt of the step would only reach again. The
	// step may have an edge for it.
	OfLimit Class = 1 << iota
	// OfRun: the limit is one of the run as a whole, after which no step continues.
	OfRun
	// Refused: another attempt would be refused for the same reason, since a budget is exhausted or
	// does not allow the call. The step's retry policy does not apply.
	Refused
	// EndsSpending: a run that this limit ended makes no more calls that use budget.
	EndsSpending
	// Free: a model call that failed and reported no usage was rejected before it cost anything.
	Free
	// SameModel: the failure of a model call may be temporary. The same model is called again, and
	// then the agent's next one.
	SameModel
	// OtherModel: another model may not have the failure. The agent's next one is called immediately.
	OtherModel
	// Persistent: the failure persists until a person acts. It is not retried unless the step's
	// policy names its code.
	Persistent
)

// classes is the class of each code that has one. The last group are the codes of package model.
var classes = map[string]Class{
	CodeMaxSteps:          OfLimit | OfRun,
	CodeMaxLoopIterations: OfLimit | OfRun,
	CodeMaxBytes:          OfLimit | OfRun | EndsSpending,
	CodeBudget:            OfLimit | OfRun | Refused | EndsSpending,
	CodeParentBudget:      OfLimit | OfRun | Refused | EndsSpending,
	CodeWorkflowBudget:    OfLimit | OfRun | Refused | Free,
	CodeNodeBudget:        OfLimit | Refused,
	CodeValueTooLarge:     OfLimit,
	CodeNoProgress:        OfLimit,
	CodeMaxTurns:          OfLimit,
	CodeMaxItems:          OfLimit,
	CodeUncounted:         Refused,
	CodeTimeout:           SameModel,

	"server":                  SameModel,
	"network":                 SameModel,
	"overloaded":              SameModel | Free,
	"rate_limit":              OtherModel | Free,
	"quota_exceeded":          OtherModel | Free | Persistent,
	"auth":                    OtherModel | Free,
	"unknown_model":           OtherModel | Free,
	"invalid_request":         OtherModel | Free,
	"context_length_exceeded": OtherModel | Free | Persistent,
	"no_reply":                Free,
}

// CodeIs reports whether the class of a failure code has any of the elements of c.
func CodeIs(code string, c Class) bool { return classes[code]&c != 0 }
