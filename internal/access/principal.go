package access

import "slices"

// Role is what a principal may do; each allows what those before it allow (SEC2).
type Role string

const (
	// RoleRun starts, sees, continues and cancels runs of published workflows, and sees definitions.
	RoleRun Role = "run"
	// RoleEdit changes definitions, and runs documents that are no stored ones (D33).
	RoleEdit Role = "edit"
	// RoleAdmin manages tokens and webhooks, and reads the audit log.
	RoleAdmin Role = "admin"
)

// Roles gives all roles, each with those that it includes before it. The slice is the caller's.
func Roles() []Role { return []Role{RoleRun, RoleEdit, RoleAdmin} }

// IsKnown tells whether r is a role.
func (r Role) IsKnown() bool { return slices.Contains(Roles(), r) }

// DefaultNamespace is that of uses of the store without a server: the command line.
const DefaultNamespace = "default"

// Principal is who makes a request. The zero Principal may do nothing.
type Principal struct {
	// Token is the id of the token, which is no secret; Name is what people call it.
	Token, Name string
	// Namespace is the tenant whose workflows and runs there are for this principal, and no others (SEC10).
	Namespace string
	Role      Role
	// Approve lets the principal answer approvals: it stands for a person, and no agent holds it (SEC12, D32).
	Approve bool
}

// May tells whether the principal may do what needs a role.
func (p Principal) May(need Role) bool {
	have, want := slices.Index(Roles(), p.Role), slices.Index(Roles(), need)
	return want >= 0 && have >= want
}
