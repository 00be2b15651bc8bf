package access

import "slices"

// Role is a principal's level of permissions; each role includes the previous ones (SEC2).
type Role string

const (
	// RoleRun may start, see, continue and cancel runs of published workflows, and see definitions.
	RoleRun Role = "run"
	// RoleEdit may change definitions, and run documents that are not stored (D33).
	RoleEdit Role = "edit"
	// RoleAdmin may manage tokens and webhooks, and read the audit log.
	RoleAdmin Role = "admin"
)

// Roles returns all roles, each after those that it includes. The caller owns the slice.
func Roles() []Role { return []Role{RoleRun, RoleEdit, RoleAdmin} }

// IsKnown reports whether r is a role.
func (r Role) IsKnown() bool { return slices.Contains(Roles(), r) }

// DefaultNamespace is the namespace used by the command line, which uses the store without a
// server.
const DefaultNamespace = "default"

// Principal is the originator of a request. The zero Principal may do nothing.
type Principal struct {
	// Token is the id of the token, which is not secret; Name is its display name.
	Token, Name string
	// Namespace is the tenant whose workflows and runs are visible to this principal; all others
	// are not (SEC10).
	Namespace string
	Role      Role
	// Approve allows the principal to answer approvals: the principal acts for a person, and no
	// agent holds its token (SEC12, D32).
	Approve bool
}

// May reports whether the principal may do what requires a role.
func (p Principal) May(need Role) bool {
	have, want := slices.Index(Roles(), p.Role), slices.Index(Roles(), need)
	return want >= 0 && have >= want
}
