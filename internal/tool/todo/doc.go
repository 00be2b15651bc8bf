// Package todo provides agents with a to-do list: create_todo, create_todos, update_todo,
// update_todos, list_todos.
//
// It stores nothing: the list is a function of the earlier calls. After a restart, [tool.Restorer]
// replays them. Every result holds the whole list with a revision number, so the current list is
// the one in the result with the highest revision, in whatever order concurrent calls were
// journaled. Each agent has its own list unless the toolset is `shared: true`. IDs start at todo_1.
package todo
