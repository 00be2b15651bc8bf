// Package todo gives agents a list of things to do: create_todo, create_todos, update_todo, update_todos, list_todos.
//
// It refuses to store anything: the list is a function of the former calls. After a restart [tool.Restorer] gives those back, and every answer
// holds the whole list with a revision number, so the list is that of the answer with the highest revision, in whatever order calls that ran
// side by side were journaled. Each agent has its own list unless the toolset is `shared: true`. Ids count from todo_1.
package todo
