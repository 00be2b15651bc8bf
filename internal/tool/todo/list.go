package todo

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/tool"
)

// Status says how far a todo is.
type Status string

const (
	StatusPending    Status = "pending"
	StatusInProgress Status = "in-progress"
	StatusCompleted  Status = "completed"
)

// Todo is one thing to do.
type Todo struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Status      Status `json:"status"`
}

// Answer is what every call answers, as JSON text. Revision counts the changes of the list.
type Answer struct {
	Created  []Todo   `json:"created,omitempty"`
	Updated  []string `json:"updated,omitempty"`
	NotFound []string `json:"not_found,omitempty"`
	Todos    []Todo   `json:"todos"`
	Revision int      `json:"revision"`
	// Reminder names what is not completed yet.
	Reminder string `json:"reminder,omitempty"`
}

// list is one agent's list. The caller locks.
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

// finish adds to an answer what all answers hold. The list is copied: it goes on changing.
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

// restore takes the list over from a recorded answer, unless a later one was there already.
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
