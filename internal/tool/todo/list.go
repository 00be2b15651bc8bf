package todo

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/tool"
)

// Status is the progress of a todo.
type Status string

// The states of a todo.
const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in-progress"
	StatusCompleted  Status = "completed"
)

// Todo is one item of the list.
type Todo struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Status      Status `json:"status"`
}

// Answer is the result of every call, encoded as JSON. Revision counts the changes of the list.
type Answer struct {
	Created  []Todo   `json:"created,omitempty"`
	Updated  []string `json:"updated,omitempty"`
	NotFound []string `json:"not_found,omitempty"`
	Todos    []Todo   `json:"todos"`
	Revision int      `json:"revision"`
	// Reminder names the items that are not completed yet.
	Reminder string `json:"reminder,omitempty"`
}

// list is one agent's list. The caller must hold the lock.
type list struct {
	todos    []Todo
	revision int
	answers  map[string]tool.Result // by idempotency key: a repeated call changes nothing (P12)
}

func (l *list) create(descriptions []string) Answer {
	var a Answer
	for _, d := range descriptions {
		t := Todo{ID: "todo_" + strconv.Itoa(len(l.todos)+1), Description: d, Status: StatusPending}
		l.todos = append(l.todos, t)
		a.Created = append(a.Created, t)
	}
	l.revision++
	return l.finish(a)
}

func (l *list) update(updates []update) (a Answer, nothing bool) {
	for _, u := range updates {
		i := slices.IndexFunc(l.todos, func(t Todo) bool { return t.ID == u.ID })
		if i < 0 {
			a.NotFound = append(a.NotFound, u.ID)
			continue
		}
		l.todos[i].Status = u.Status
		a.Updated = append(a.Updated, u.ID)
	}
	if len(a.Updated) > 0 {
		l.revision++
	}
	return l.finish(a), len(a.Updated) == 0
}

// finish adds to an answer what all answers contain. The list is copied, because later calls change
// it.
func (l *list) finish(a Answer) Answer {
	a.Todos = append([]Todo{}, l.todos...)
	a.Revision = l.revision
	for _, t := range l.todos {
		if t.Status == StatusCompleted {
			continue
		}
		if a.Reminder == "" {
			a.Reminder = "not completed yet:"
		}
		a.Reminder += " " + t.ID + " (" + string(t.Status) + ")"
	}
	return a
}

// restore replaces the list with the one in a recorded answer, unless the current one is newer.
func (l *list) restore(text string) bool {
	var a Answer
	if json.Unmarshal([]byte(text), &a) != nil {
		return false
	}
	if a.Revision > l.revision {
		l.todos, l.revision = a.Todos, a.Revision
	}
	return true
}
